export interface ServerEvent {
  id: string | null;
  name: string;
  data: string;
}

/** Reads server-sent events from text as it arrives, in pieces of any size. */
export class EventParser {
  private rest = "";
  private fields = { id: null as string | null, name: "", data: [] as string[] };

  push(text: string): ServerEvent[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") return this.dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return []; // a comment: it only shows that the connection is alive
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.fields.id = value;
    else if (field === "event") this.fields.name = value;
    else if (field === "data") this.fields.data.push(value);
    return [];
  }

  private dispatch(): ServerEvent[] {
    const { id, name, data } = this.fields;
    this.fields = { id: null, name: "", data: [] };
    return id === null && data.length === 0 ? [] : [{ id, name: name || "message", data: data.join("\n") }];
  }
}
