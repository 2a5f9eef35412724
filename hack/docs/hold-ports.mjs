import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Listens on these ports of 127.0.0.1 as the reader's own server does, so that a block that needs one of them fails
 * here too. Closes every connection. Skips ports that are in use. Resolves with a function that releases them.
 */
export async function holdPorts(ports) {
  const held = await Promise.all(ports.map(hold));
  return async () => {
    await Promise.all(held.flatMap((server) => (server === undefined ? [] : once(server.close(), 'close'))));
  };
}

/** Undefined if the port is in use. */
async function hold(port) {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    return undefined;
  }
}
