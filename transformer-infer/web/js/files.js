// Files of models: from the page, or from a server and the browser's cache.

const CACHE = "transformer-web";

/** Returns the SHA-256 of bytes in hexadecimal digits; browsers compute it only for pages of https or localhost. */
export async function hash(bytes) {
  if (!globalThis.crypto?.subtle) return undefined;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Returns false if the browser computes no hashes here.
async function checkHash(name, bytes, sha256) {
  const found = await hash(bytes);
  if (found === undefined) return false;
  if (found !== sha256) throw new Error(`\`${name}\` has the SHA-256 ${found}, not ${sha256}; get the file again`);
  return true;
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

// Calls a function with the browser's cache; without one, or if it fails, as on a full disk, the result is undefined.
async function withCache(call) {
  try {
    return globalThis.caches && (await call(await caches.open(CACHE)));
  } catch {
    return undefined;
  }
}

/** The hashes of bytes that were checked. */
const checked = new WeakMap();

const readKept = (key, sha256) =>
  withCache(async (cache) => {
    const response = await cache.match(key);
    if (!response) return undefined;
    const bytes = new Uint8Array(await response.arrayBuffer());
    if ((await hash(bytes)) === sha256) {
      checked.set(bytes, sha256);
      return bytes;
    }
    await cache.delete(key);
  });

// Keeps a file, and no other version of it.
const keep = (prefix, sha256, bytes) =>
  withCache(async (cache) => {
    const key = prefix + sha256;
    await cache.put(key, new Response(bytes));
    for (const { url } of await cache.keys()) {
      if (url.startsWith(prefix) && url !== key) await cache.delete(url);
    }
  });

// Files are in the cache under their address and hash, so that a new version is another entry.
async function download(name, { url, sha256 }, signal, onProgress) {
  const address = new URL(url, globalThis.location?.href);
  address.hash = "";
  const prefix = `${address}?sha256=`;
  const kept = sha256 && (await readKept(prefix + sha256, sha256));
  if (kept) {
    onProgress(kept.length);
    return kept;
  }
  let bytes = await readBody(await fetch(url, { signal }), onProgress);
  if (address.pathname.endsWith(".gz") && bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  }
  if (sha256 && (await checkHash(name, bytes, sha256))) {
    checked.set(bytes, sha256);
    await keep(prefix, sha256, bytes);
  }
  return bytes;
}

/** Returns whether a file is in the page's memory, which is not ours. */
export const isBytes = (file) => file instanceof Uint8Array || file instanceof ArrayBuffer;

async function read(name, file, signal, onProgress) {
  if (isBytes(file)) return file instanceof Uint8Array ? file : new Uint8Array(file);
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

/** Returns the hashes of files, as far as they were checked. */
export const hashesOf = (contents) =>
  Object.fromEntries(Object.entries(contents).map(([name, bytes]) => [name, checked.get(bytes)]));

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
