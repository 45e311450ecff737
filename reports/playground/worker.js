// The worker starts the program, and passes requests to it. The program answers with postMessage.
self.onmessage = async (start) => {
  self.onmessage = (request) => self.lockstepPlay(request.data);
  const packed = Uint8Array.from(atob(start.data), (c) => c.charCodeAt(0));
  const program = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(program, go.importObject);
  await go.run(instance);
};
