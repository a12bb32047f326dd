// The interfaces of the server as a page, from the description for programs.
import { byId, element } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

let schemas = {};

/** Returns a schema, after references to others. */
function resolved(schema) {
  let found = schema ?? {};
  while (found.$ref) found = schemas[found.$ref.split("/").pop()] ?? {};
  return found;
}

/** Returns the type of a value as text. */
function typeOf(schema) {
  const { type, items, oneOf, enum: values } = resolved(schema);
  if (values) return values.join(" | ");
  if (items) return `${typeOf(items)}[]`;
  if (oneOf) return [...new Set(oneOf.map(typeOf))].join(" | ");
  return [type ?? "any"].flat().filter((it) => it !== "null").join(" | ");
}

/** Returns the fields of an object, those of its parts included. */
function fieldsOf(schema) {
  const { properties = {}, allOf = [], required = [], items } = resolved(schema);
  if (items) return fieldsOf(items);
  const own = Object.entries(properties).map(([name, it]) => [
    name, typeOf(it), it.description ?? resolved(it).description ?? "", required.includes(name),
  ]);
  return [...allOf.flatMap(fieldsOf), ...own];
}

function table(title, rows) {
  if (rows.length === 0) return [];
  const cells = ([name, type, description, isRequired]) => element("tr", {},
    element("td", {}, element("code", {}, name), isRequired ? " *" : ""), element("td", {}, type), element("td", {}, description));
  return [element("table", {}, element("caption", {}, title), ...rows.map(cells))];
}

/** Returns what is known of an operation, to be unfolded. */
function details(path, method, operation) {
  const parameters = (operation.parameters ?? []).map((it) => [it.name, typeOf(it.schema), it.description ?? "", it.required]);
  const bodies = Object.entries(operation.requestBody?.content ?? {});
  const replies = Object.entries(operation.responses ?? {});
  const ok = replies.find(([status]) => status.startsWith("2"))?.[1]?.content ?? {};
  return element("details", {},
    element("summary", {}, element("code", {}, `${method.toUpperCase()} ${path}`), ` ${operation.summary ?? operation.description ?? ""}`),
    ...table("Parameters", parameters),
    ...table(`Body: ${bodies.map(([type]) => type).join(", ")}`, fieldsOf(bodies[0]?.[1]?.schema)),
    ...table(`Reply: ${Object.keys(ok).join(", ")}`, fieldsOf(Object.values(ok)[0]?.schema)),
    ...table("Status", replies.map(([status, it]) => [status, "", it.description])));
}

async function start() {
  const { paths, components } = await (await fetch("openapi.json")).json();
  schemas = components?.schemas ?? {};
  const byTag = Map.groupBy(
    Object.entries(paths).flatMap(([path, item]) => METHODS.filter((it) => item[it]).map((method) => [path, method, item[method]])),
    ([, , { tags }]) => tags?.[0] ?? "Server",
  );
  for (const [tag, operations] of byTag) {
    byId("operations").append(element("h2", {}, tag), ...operations.map((it) => details(...it)));
  }
}

start().catch((error) => byId("operations").append(element("p", {}, String(error))));
