// The worker starts the program, and passes requests to it. The program answers with postMessage. The page keeps the compiled program for the
// next worker.
self.onmessage = async (start) => {
  self.onmessage = (request) => self.lockstepPlay(request.data);
  try {
    const program = start.data instanceof WebAssembly.Module ? start.data : await compiled(start.data);
    self.postMessage(program);
    const go = new Go();
    await go.run(await WebAssembly.instantiate(program, go.importObject));
  } catch (e) {
    self.postMessage(JSON.stringify({ failed: e.message }));
  }
};

async function compiled(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  // Uint8Array.from takes several times as long. When the reader leaves, Chromium waits two seconds for the worker, and then ends it by force. If
  // it is still here, now and then the process crashes, and with it the page that the reader has gone to.
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  return WebAssembly.compile(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
