import type { IncomingMessage } from 'node:http';
import { EventLoopTurns } from '#pkg/apimachinery/index';

/** Time for the whole body to arrive. Milliseconds. */
const maxDrainMs = 30_000;
/** Bytes that may arrive before the stream pauses again. */
const chunkBytes = 64 * 1024;

/**
 * Reads and discards the rest of a body that no handler reads, as the event loop has time: closing a socket with unread
 * bytes resets it, and the client may lose the answer. Closes the connection if the client sends nothing for
 * `idleTimeoutMs`, or is not done after 30 s.
 */
export function drainUnreadBody(request: IncomingMessage, idleTimeoutMs: number): void {
  const { socket } = request;
  const turns = new EventLoopTurns({ isLarge: true });
  const deadline = performance.now() + maxDrainMs;
  let timer: NodeJS.Timeout | undefined;
  let lastCheck: NodeJS.Immediate | undefined;
  const stopTimer = (): void => {
    clearTimeout(timer);
    clearImmediate(lastCheck);
  };
  const goOn = (): void => {
    if (socket.destroyed) return;
    // If the event loop was blocked, reads first what has arrived meanwhile.
    timer = setTimeout(() => (lastCheck = setImmediate(() => socket.destroy())), idleTimeoutMs);
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
    clearImmediate(lastCheck);
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
