// Server-sent events of a reply to POST, which the browser's own EventSource cannot read.

/** Reads `{ event, data }` from a stream of bytes; the stream is cancelled if the caller stops early. */
export async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      // A line end in two parts may still be completed by the next chunk.
      const whole = rest.endsWith("\r") ? rest.slice(0, -1) : rest;
      const blocks = whole.split(/\r\n\r\n|\n\n|\r\r/);
      rest = blocks.pop() + rest.slice(whole.length);
      for (const block of blocks) {
        const event = parse(block);
        if (event.data !== "") yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Parses the fields of one event; a comment has no field, and gives no data. */
function parse(block) {
  const event = { event: "message", data: "" };
  const data = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
    if (name === "event") event.event = value ?? "";
    else if (name === "data") data.push(value ?? "");
  }
  event.data = data.join("\n");
  return event;
}
