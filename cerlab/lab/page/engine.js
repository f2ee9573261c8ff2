// What answers the page: the server that gave it, if it runs cerlab, else Pyodide in a worker.

export async function openEngine(tell) {
  const token = new URLSearchParams(location.search).get("token");
  return token ? server(token) : inBrowser(tell);
}

function server(token) {
  let stopper = new AbortController();
  return {
    name: "this machine",
    link: ({ hash }) => `cerlab lab --page '${hash.slice(1)}'`, // the address is this machine's alone
    copied: "copied: a command that opens this page on any machine with cerlab",
    stop: () => {
      stopper.abort();
      stopper = new AbortController();
    },
    ask: async (request) => {
      const reply = await fetch("answer", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Token": token },
        body: JSON.stringify(request),
        signal: stopper.signal,
      }).catch((error) => ({ ok: false, statusText: String(error) }));
      return reply.ok ? reply.json() : { error: { message: `no reply: ${reply.status ?? ""} ${reply.statusText}` } };
    },
  };
}

async function inBrowser(tell) {
  let worker;
  let waiting = new Map();
  let count = 0;
  let ready;
  const start = () => {
    worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    ready = new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => {
        if (data.told) tell(data.told);
        else if (data.ready) resolve();
        else if (data.failed) reject(new Error(data.failed));
        else {
          waiting.get(data.id)?.(JSON.parse(data.reply));
          waiting.delete(data.id);
        }
      };
    });
    ready.catch((error) => tell(`the lab could not start: ${error.message}`));
    return ready;
  };
  await start();
  return {
    name: "in this browser",
    link: ({ href }) => href,
    copied: "the link is in the address line, and copied",
    stop: () => {
      worker.terminate();
      for (const resolve of waiting.values()) resolve({ error: { message: "stopped" } });
      waiting = new Map();
      start();
    },
    ask: async (request) => {
      await ready;
      const id = ++count;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        worker.postMessage({ id, request: JSON.stringify(request) });
      });
    },
  };
}
