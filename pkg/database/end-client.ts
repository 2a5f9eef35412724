import type { Client } from 'pg';
import { settledWithin } from './settled-within.ts';

const END_TIMEOUT_MS = 1_000;

/**
 * Ends a client, whatever became of its connection: one whose other end has vanished never says goodbye, so it is cut
 * after a second. Never rejects.
 */
export async function endClient(client: Client): Promise<void> {
  const ended = client.end();
  if (!(await settledWithin(ended, END_TIMEOUT_MS))) client.connection.stream.destroy();
}
