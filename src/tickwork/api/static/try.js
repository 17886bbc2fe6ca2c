// Tries an operation on this server, and tells the same as a curl command.
"use strict";

const KEY = "tickwork-key";
const LONGEST_WAIT = 60000; // milliseconds
const LONGEST_SHOWN = 100000; // characters
const keyInput = document.getElementById("key");

keyInput.value = sessionStorage.getItem(KEY) ?? "";
keyInput.addEventListener("input", () => sessionStorage.setItem(KEY, keyInput.value.trim()));
document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());

function trial(operation, api) {
  const inputs = operation.parameters.map((parameter) => ({ ...parameter, input: inputFor(parameter, resolve(parameter.schema, api)) }));
  const body = operation.requestBody ? bodyFor(operation.requestBody) : null;
  const command = element("code");
  const answer = element("div", { role: "status" });
  const form = element("form", { class: "trial" },
    ...inputs.map(({ name, required, input }) =>
      element("label", required ? { class: "required" } : {}, element("span", {}, name), input)),
    body && element("label", { class: "wide" }, element("span", {}, "body"), body.input),
    element("button", { type: "submit" }, "Send to this server"));
  const tell = () => { command.textContent = curl(requestOf(operation, inputs, body)); };
  form.addEventListener("input", tell);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(requestOf(operation, inputs, body), answer);
  });
  tell();
  return element("section", {}, element("h4", {}, "Try it"), form, sample(command), answer);
}

function inputFor({ name, required }, schema) {
  const attributes = { name, autocomplete: "off", spellcheck: "false", ...(required ? { required: "" } : {}) };
  if (!schema.enum) return element("input", { ...attributes, placeholder: schema.default ?? "" });
  const choices = ["", ...schema.enum].map((choice) => element("option", { value: choice }, String(choice)));
  return element("select", attributes, ...choices);
}

function bodyFor({ content }) {
  const [media, { example }] = Object.entries(content)[0];
  const input = element("textarea", { rows: 8, spellcheck: "false" });
  input.value = example === undefined ? "" : JSON.stringify(example, null, 2);
  return { media, input };
}

function requestOf({ method, path, security }, inputs, body) {
  const given = inputs.filter(({ input }) => input.value !== "");
  const query = new URLSearchParams(given.filter((each) => each.in === "query").map(({ name, input }) => [name, input.value]));
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = given.find((each) => each.in === "path" && each.name === name)?.input.value;
    return value === undefined ? whole : encodeURIComponent(value);
  });
  const headers = Object.fromEntries(given.filter((each) => each.in === "header").map(({ name, input }) => [name, input.value]));
  const text = body?.input.value.trim() || null;
  if (text) headers["Content-Type"] = body.media;
  return { method: method.toUpperCase(), url: filled + (query.size ? `?${query}` : ""), headers, body: text, open: Boolean(security) };
}

function curl({ method, url, headers, body, open }) {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(location.origin + url)}`];
  if (!open) lines.push("-H \"Authorization: Bearer $TICKWORK_API_KEY\"");
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body) lines.push(`-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function send({ method, url, headers, body, open }, answer) {
  const key = keyInput.value.trim();
  if (!open && !key) {
    keyInput.focus();
    answer.replaceChildren(element("p", { class: "bad" }, "Enter an API key at the top of the page first."));
    return;
  }
  const all = open ? headers : { ...headers, Authorization: `Bearer ${key}` };
  answer.replaceChildren(element("p", { class: "quiet" }, "Sent; waiting for the answer."));
  const began = performance.now();
  try {
    const given = await fetch(url, { method, headers: all, body, signal: AbortSignal.timeout(LONGEST_WAIT) });
    const text = pretty(await given.text());
    const took = Math.round(performance.now() - began);
    answer.replaceChildren(
      element("h4", {}, "Answer"),
      element("p", { class: given.ok ? "" : "bad" }, `${given.status} ${given.statusText}, after ${took} ms`),
      sample(element("code", {}, text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}\n…` : text)));
  } catch (error) {
    answer.replaceChildren(element("p", { class: "bad" }, `There was no answer: ${error.message}`));
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function sample(code) {
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    copy.textContent = "Copied";
  });
  return element("div", { class: "sample" }, element("pre", {}, code), copy);
}
