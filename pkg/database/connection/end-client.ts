import type { Client } from 'pg';
import { settledWithin } from '../settled-within.ts';

const endTimeoutMs = 1_000;

/**
 * Ends a client in any state of its connection: a connection whose other end has vanished is destroyed after a second.
 * Never rejects.
 */
export async function endClient(client: Client): Promise<void> {
  const ended = client.end();
  if (!(await settledWithin(ended, endTimeoutMs))) client.connection.stream.destroy();
}
