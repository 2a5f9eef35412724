import type { ClientRequest } from 'node:http';

/** Destroys the request, with an error, if it has no connection in time: the system's own limit is minutes. */
export function limitConnecting(request: ClientRequest, connectMs: number): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    const giveUp = (): void =>
      void (socket.connecting && request.destroy(new Error(`no connection within ${connectMs} ms`)));
    // If this process itself was paused, the connection may exist already; Node reports that after timers.
    const timer = setTimeout(() => setImmediate(giveUp), connectMs);
    const stop = (): void => clearTimeout(timer);
    socket.once('connect', stop);
    socket.once('close', stop);
  });
}
