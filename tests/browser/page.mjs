// SPDX-License-Identifier: MIT
// page.mjs PAGE.html QUESTION.json ...: the page's worker under node, without a page: a line of JSON for what it loaded,
// and one for each question, which is {text: "..."} or {messages: [...]} with options of browser/worker.js.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const [page, ...questions] = process.argv.slice(2);
const html = readFileSync(page, "utf8");
const part = id => {
  const found = new RegExp(`<script type="text/plain" id="${id}">([^]*?)</script>`).exec(html);
  if (!found) throw new Error(`${page}: no script ${id}`);
  return found[1];
};

let take;
const posted = [];
globalThis.self = globalThis;
globalThis.postMessage = m => { posted.push(m); take?.(); };
vm.runInThisContext(part("worker"), { filename: "worker.js" });

// Posts a message, and waits for the answer's end.
async function ask(data) {
  let text = "";
  self.onmessage({ data });
  for (;;) {
    while (!posted.length) await new Promise(go => { take = go; });
    const m = posted.shift();
    if (m.piece) text += m.piece;
    else if (m.done) return { ...m.done, text: text + m.done.text };
    else return m;
  }
}

const context = Number(/context: (\d+)/.exec(html)[1]);
console.log(JSON.stringify(await ask({ load: { file: part("file"), simd: part("simd"), relaxed: part("relaxed"), context } })));
for (const q of questions)
  console.log(JSON.stringify(await ask({ ask: { max_tokens: 60, temperature: 0, top_k: 0, top_p: 1, seed: 0, thinking: false, ...JSON.parse(q) } })));
process.exit(0);
