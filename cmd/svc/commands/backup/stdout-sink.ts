import { Writable } from 'node:stream';

/**
 * What ends in `stdout` and does not end it. Finished when all is written, not when it was taken over: what stdout
 * itself still holds is lost with the process.
 */
export function stdoutSink(stdout: Writable): Writable {
  // The write that fails tells.
  stdout.on('error', () => undefined);
  return new Writable({ write: (piece: Buffer, _encoding, done) => void stdout.write(piece, done) });
}
