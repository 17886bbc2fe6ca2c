// Shows /v1/openapi.json. Everything is put in as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const main = document.getElementById("document");
const contents = document.getElementById("contents");
const search = document.getElementById("search");

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

// `code` and [text](/link) are all the markup that descriptions use.
function prose(text) {
  const parts = text.split(/(`[^`]+`|\[[^\]]+\]\(\/[^)\s]*\))/);
  return parts.map((part) => {
    if (part.startsWith("`")) return element("code", {}, part.slice(1, -1));
    const link = /^\[([^\]]+)\]\((\/[^)\s]*)\)$/.exec(part);
    return link ? element("a", { href: link[2] }, link[1]) : part;
  });
}

async function load() {
  const answer = await fetch("/v1/openapi.json");
  const api = await answer.json();
  if (!answer.ok) throw new Error(api.detail ?? api.title);
  api.operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({ path, method, ...methods[method] })));
  return api;
}

function showContents(api) {
  const words = search.value.toLowerCase().split(/\s+/);
  contents.replaceChildren();
  for (const tag of api.tags) {
    const own = api.operations.filter((operation) => operation.tags.includes(tag.name) && holds(operation, words));
    if (own.length) contents.append(element("h2", {}, tag.name), ...own.map(contentsLine));
  }
  if (!contents.hasChildNodes()) contents.append(element("p", { class: "quiet" }, "Nothing is called so."));
}

function holds({ method, path, summary, description, operationId, parameters }, words) {
  const names = parameters.map(({ name }) => name);
  const text = [method, path, summary, description, operationId, ...names].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function showDocument(api) {
  const wanted = api.operations.find(({ operationId }) => `#${operationId}` === location.hash);
  document.body.classList.toggle("chosen", Boolean(wanted));
  main.replaceChildren(...(wanted ? [element("a", { href: "#", class: "back" }, "All operations"), article(wanted, api)]
    : overview(api)));
  document.title = wanted ? `${wanted.summary} · Tickwork API` : "Tickwork API";
  for (const link of contents.querySelectorAll("a")) {
    if (link.hash === location.hash) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
}

function overview(api) {
  const tags = api.tags.flatMap((tag) => [
    element("h2", {}, tag.name), element("p", { class: "lead" }, ...prose(tag.description)),
    ...api.operations.filter((operation) => operation.tags.includes(tag.name)).map(contentsLine)]);
  return [element("h1", {}, api.info.title), element("p", { class: "lead" }, ...prose(api.info.description)),
    element("div", { class: "overview" }, ...tags)];
}

function contentsLine({ method, summary, operationId }) {
  return element("a", { href: `#${operationId}` }, badge(method), element("span", {}, summary));
}

function badge(method) {
  return element("span", { class: `method ${method}` }, method.toUpperCase());
}

function article(operation, api) {
  const node = element("article", { id: operation.operationId },
    element("h1", {}, operation.summary),
    element("div", { class: "path" }, badge(operation.method), operation.path),
    element("p", { class: "quiet" }, ...prose(operation.description)),
    trial(operation, api));
  const parameters = operation.parameters.map(
    ({ name, required, schema, description }) => [name, required, { description, ...schema }, null]);
  section(node, "Parameters", parameters, api);
  if (operation.requestBody) {
    const [media, { schema }] = Object.entries(operation.requestBody.content)[0];
    section(node, `Body, ${media}`, fields(schema, api), api);
  }
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (status < "400") section(node, `Answer ${status}`, fields(Object.values(answer.content)[0].schema, api), api);
  }
  node.append(element("h4", {}, "Problems"), table(problemRows(operation)));
  return node;
}

function problemRows(operation) {
  return Object.entries(operation.responses)
    .filter(([status]) => status >= "400")
    .map(([status, answer]) => [element("span", { class: "status" }, status), element("span", {}, ...prose(answer.description))]);
}

function section(node, title, rows, api) {
  if (rows.length === 0) return;
  const shown = rows.map(([name, required, schema]) => [
    element("span", required ? { class: "required" } : {}, name),
    element("span", {}, kind(schema, api), " ", element("span", { class: "quiet" }, ...prose(note(schema, api)))),
  ]);
  node.append(element("h4", {}, title), table(shown));
}

function table(rows) {
  return element("table", {}, element("tbody", {},
    ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))))));
}

function resolve(schema, api) {
  return schema.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;
}

function fields(schema, api, prefix = "", depth = 0) {
  const whole = resolve(schema, api);
  if (whole.type === "array") return fields(whole.items, api, `${prefix}[]`, depth);
  return Object.entries(whole.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix ? `${prefix}.${name}` : name;
    const inner = depth < 2 ? nested(field, api) : null;
    const own = [path, (whole.required ?? []).includes(name), field];
    return inner ? [own, ...fields(inner, api, inner.list ? `${path}[]` : path, depth + 1)] : [own];
  });
}

function nested(schema, api) {
  const choices = (schema.anyOf ?? [schema]).map((choice) => resolve(choice, api));
  const list = choices.find((choice) => choice.type === "array" && resolve(choice.items ?? {}, api).properties);
  if (list) return { ...resolve(list.items, api), list: true };
  return choices.find((choice) => choice.properties) ?? null;
}

function kind(schema, api) {
  const whole = resolve(schema, api);
  if (whole.anyOf) return whole.anyOf.map((choice) => kind(choice, api)).join(" | ");
  if (whole.enum) return whole.enum.map((choice) => JSON.stringify(choice)).join(" | ");
  if (whole.type === "array") return `list of ${kind(whole.items ?? {}, api)}`;
  return whole.format ?? whole.type ?? "any";
}

function note(schema, api) {
  const bounds = [];
  const plain = resolve(schema.anyOf?.find((choice) => choice.type !== "null") ?? schema, api);
  const description = schema.description ?? plain.description;
  if (description) bounds.push(description);
  if (plain.minimum !== undefined) bounds.push(`from ${plain.minimum}`);
  if (plain.maximum !== undefined) bounds.push(`to ${plain.maximum}`);
  if (plain.maxLength !== undefined) bounds.push(`up to ${plain.maxLength} characters`);
  if (plain.maxItems !== undefined) bounds.push(`up to ${plain.maxItems}`);
  const preset = schema.default;
  if (preset !== undefined && preset !== null && typeof preset !== "object") bounds.push(`default \`${preset}\``);
  return bounds.join(", ");
}

async function start() {
  try {
    const api = await load();
    const show = () => { showContents(api); showDocument(api); };
    search.addEventListener("input", () => showContents(api));
    addEventListener("hashchange", show);
    show();
  } catch (error) {
    main.replaceChildren(element("p", { class: "bad", role: "alert" }, error.message));
  }
}

start();
