// Keeps the page for use without a network. Models are kept by the package, by their hashes.

const CACHE = "transformer-demo";
const FILES = [/* all */]; // filled by `cargo xtask web`, without the modules
const MODULE = `pkg/${new URL(location).searchParams.get("module")}_bg.wasm`; // the one that this browser loads

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([...FILES, MODULE].map((url) => new Request(url, { cache: "reload" })))));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

// Asks the server first, also for files in the browser's own cache, so that a new version is seen at once; without a
// network it answers with what it kept. Manifests of models are kept, too.
async function answer(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request, { cache: "no-cache" });
    if (response.ok && (request.url.endsWith("manifest.json") || (await cache.match(request, { ignoreSearch: true }))))
      await cache.put(request.url.split("?")[0], response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event.request));
});
