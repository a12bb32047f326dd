// Chapter 19: the translator that the chapter trains, in the page. `cargo xtask book --live` puts it into the folder
// `live`; without it, or from a file, the chapter says how to get it.
"use strict";
book.shows.translator = (root) => {
  const command = book.element("code", {}, "cargo xtask book --live");
  const said = book.element("p", { class: "quiet" }, command, " puts the translator here, for a server of files.");
  root.append(book.element("h4", {}, root.dataset.title), said);
  if (!location.protocol.startsWith("http")) return;
  fetch("live/models.json").then(async (reply) => {
    const [model] = reply.ok ? await reply.json() : [];
    if (model === undefined) return;
    const query = new URLSearchParams({ model, q: root.dataset.text });
    said.replaceWith(book.element("iframe", { src: `live/?${query}`, title: root.dataset.title, loading: "lazy" }));
  }).catch(() => {});
};
