import type { IncomingMessage } from 'node:http';
import { EventLoopTurns } from '#pkg/apimachinery/index';

/** For all of the body to arrive. Milliseconds. */
const longestMs = 30_000;
/** What arrives before it can be told to wait again. */
const chunkBytes = 64 * 1024;

/**
 * Takes in the rest of a body that nobody reads, as the event loop has time for it: a socket closed over unread bytes
 * is reset, and the client may lose the answer. Closes the connection of a client that sends nothing for `silenceMs`,
 * or is not done after 30 s.
 */
export function takeInUnreadBody(request: IncomingMessage, silenceMs: number): void {
  const { socket } = request;
  const turns = new EventLoopTurns({ isLarge: true });
  const deadline = performance.now() + longestMs;
  let timer: NodeJS.Timeout | undefined;
  let lastLook: NodeJS.Immediate | undefined;
  const stopTimer = (): void => {
    clearTimeout(timer);
    clearImmediate(lastLook);
  };
  const goOn = (): void => {
    if (socket.destroyed) return;
    // Where the event loop was held, what has arrived meanwhile is read first.
    timer = setTimeout(() => (lastLook = setImmediate(() => socket.destroy())), silenceMs);
    turns.expect(chunkBytes);
    request.resume();
  };
  const end = (): void => {
    stopTimer();
    socket.off('close', end);
  };
  request.on('data', () => {
    if (performance.now() > deadline) {
      socket.destroy();
      return;
    }
    clearImmediate(lastLook);
    timer?.refresh();
    if (!turns.due) return;
    stopTimer();
    request.pause();
    void turns.next().then(goOn);
  });
  request.once('end', end);
  socket.once('close', end);
  goOn();
}
