import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Listens on these ports of 127.0.0.1 as the reader's own server does, so that a block that would take one of them
 * fails here, too. Who comes is sent away. One that is taken already is left to whoever has it. Resolves with how to
 * let go of them.
 */
export async function holdPorts(ports) {
  const held = await Promise.all(ports.map(hold));
  return async () => {
    await Promise.all(held.flatMap((server) => (server === undefined ? [] : once(server.close(), 'close'))));
  };
}

/** Undefined where it is taken. */
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
