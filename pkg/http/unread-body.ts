import type { IncomingMessage } from 'node:http';
import { EventLoopTurns } from '#pkg/apimachinery/index';

/**
 * Takes in the rest of a body that nobody reads, as the event loop has time for it: a socket closed over unread bytes is reset, and the client may lose the answer.
 * Closes the connection of a client that takes longer than `maxMs` to send it, in milliseconds.
 */
export function takeInUnreadBody(request: IncomingMessage, maxMs: number): void {
  const { socket } = request;
  const turns = new EventLoopTurns({ isLarge: true });
  let leftMs = maxMs;
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  const goOn = (): void => {
    if (socket.destroyed) return;
    since = performance.now();
    timer = setTimeout(() => socket.destroy(), leftMs);
    request.resume();
  };
  const end = (): void => {
    clearTimeout(timer);
    socket.off('close', end);
  };
  request.on('data', () => {
    if (!turns.due) return;
    clearTimeout(timer);
    // Only the client's own time counts.
    leftMs -= performance.now() - since;
    request.pause();
    void turns.next().then(goOn);
  });
  request.once('end', end);
  socket.once('close', end);
  goOn();
}
