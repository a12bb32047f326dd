// Keeps the page for use without a network. Models are kept by the package, by their hashes. From its second visit on, the
// page is isolated from other origins, as threads need it, without headers of the server.

const CACHE = "transformer-demo";
const FILES = [/* all */]; // filled by `cargo xtask web`, without the modules: the page keeps the one that it loads

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES.map((url) => new Request(url, { cache: "reload" })))));
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

function isolated(response) {
  const { body, status, statusText } = response;
  if (status === 0) return response; // a redirection, which the browser follows
  const headers = new Headers(response.headers);
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-embedder-policy", "require-corp");
  return new Response(body, { status, statusText, headers });
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event.request).then(isolated));
});
