// Files of models: from the page, or from a server and the browser's cache.

const CACHE = "transformer-web";

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function checkHash(name, bytes, sha256) {
  const found = hex(await crypto.subtle.digest("SHA-256", bytes));
  if (found !== sha256) throw new Error(`\`${name}\` has the SHA-256 ${found}, not ${sha256}; get the file again`);
}

// Reads a response, and calls `onProgress` with the number of bytes of each piece.
async function readBody(response, onProgress) {
  if (!response.ok) throw new Error(`${response.url}: status ${response.status}`);
  const pieces = [];
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    pieces.push(value);
    onProgress(value.length);
  }
}

// Files are in the cache under their address and hash, so that a new version is another entry.
async function download(name, { url, sha256 }, signal, onProgress) {
  const key = sha256 && `${new URL(url, globalThis.location?.href)}?sha256=${sha256}`;
  const cache = key && globalThis.caches && (await caches.open(CACHE));
  const cached = await cache?.match(key);
  if (cached) return readBody(cached, onProgress);
  let bytes = await readBody(await fetch(url, { signal }), onProgress);
  if (/\.gz$/.test(new URL(url, globalThis.location?.href).pathname) && bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  }
  if (sha256) await checkHash(name, bytes, sha256);
  await cache?.put(key, new Response(bytes));
  return bytes;
}

async function read(name, file, signal, onProgress) {
  if (file instanceof Uint8Array) return file;
  if (file instanceof ArrayBuffer) return new Uint8Array(file);
  if (file instanceof Blob) return new Uint8Array(await file.arrayBuffer());
  if (typeof file === "string" || file instanceof URL) return download(name, { url: file }, signal, onProgress);
  if (file?.url) return download(name, file, signal, onProgress);
  throw new TypeError(`\`${name}\` is no file; give bytes, a Blob, an address or { url, sha256 }`);
}

export async function readAll(files, { signal, onProgress }) {
  let loaded = 0;
  const count = (n) => onProgress?.({ loaded: (loaded += n) });
  const entries = Object.entries(files).map(async ([name, file]) => [name, await read(name, file, signal, count)]);
  return Object.fromEntries(await Promise.all(entries));
}

/** The files of a model directory on a server, as its manifest names them. */
export async function modelDirectory(address, { signal } = {}) {
  const base = new URL(address, globalThis.location?.href);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const manifest = await readBody(await fetch(new URL("manifest.json", base), { signal, cache: "no-cache" }), () => {});
  const files = { "manifest.json": manifest };
  for (const { name, sha256 } of Object.values(JSON.parse(new TextDecoder().decode(manifest)).files)) {
    files[name] = { url: String(new URL(name, base)), sha256 };
  }
  return files;
}
