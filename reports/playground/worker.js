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
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return WebAssembly.compile(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
