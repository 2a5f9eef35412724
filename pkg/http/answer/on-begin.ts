import type { ServerResponse } from 'node:http';

/**
 * Calls `begun` with the status when the response head is written. Node has no event for that, but every way calls
 * `writeHead`.
 */
export function onBegin(response: ServerResponse, begun: (status: number) => void): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    begun(args[0] as number);
    return writeHead(...args);
  };
}
