import { Writable } from 'node:stream';

/**
 * A stream that writes to `stdout` without ending it. It finishes once everything is written, because bytes that stdout
 * still buffers are lost when the process exits.
 */
export function stdoutSink(stdout: Writable): Writable {
  // The failing write reports the error.
  stdout.on('error', () => undefined);
  return new Writable({ write: (piece: Buffer, _encoding, done) => void stdout.write(piece, done) });
}
