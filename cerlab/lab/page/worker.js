// cerlab by Pyodide, with Graphviz in WebAssembly where pygraphviz would be.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { Graphviz } from "./graphviz/index.js";

const LIBRARIES = "/libraries";

const START = `
import sys, types
sys.path.insert(0, "${LIBRARIES}")

class AGraph:
    """DOT text that the browser's Graphviz draws."""

    def __init__(self, string):
        self.text = string

    def draw(self, prog, format, args=""):
        from cerlab_page import layout
        return layout(self.text, format, prog).encode()

sys.modules["pygraphviz"] = types.SimpleNamespace(AGraph=AGraph)
import json
from cerlab.lab import answer
`;

async function main() {
  postMessage({ told: "loading Python" });
  const [pyodide, graphviz] = await Promise.all([loadPyodide(), Graphviz.load()]);
  pyodide.registerJsModule("cerlab_page", {
    layout: (text, format, program) => graphviz.layout(text, format, program),
  });
  postMessage({ told: "loading cerlab" });
  const libraries = await (await fetch(new URL("./libraries.zip", import.meta.url))).arrayBuffer();
  pyodide.unpackArchive(libraries, "zip", { extractDir: LIBRARIES });
  pyodide.runPython(START);
  const reply = pyodide.runPython("lambda text: json.dumps(answer(json.loads(text)))");
  self.onmessage = ({ data }) => {
    let text;
    try {
      text = reply(data.request);
    } catch (error) {
      text = JSON.stringify({ error: { message: String(error.message ?? error).trim().split("\n").at(-1) } });
    }
    postMessage({ id: data.id, reply: text });
  };
  postMessage({ ready: true });
}

main().catch((error) => postMessage({ failed: String(error.message ?? error) }));
