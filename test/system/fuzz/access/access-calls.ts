/** What a world is prepared with, past the oracles. */
export interface AccessCalls {
  send(
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<{ status: number; body: unknown; cookies: ReadonlyMap<string, string> }>;
  /** The private token of a user, as the command on the server makes it. */
  createPrivateToken(username: string): Promise<string>;
}

interface CallOptions {
  body?: object;
  headers?: Record<string, string>;
}

export function accessCalls(port: number, createPrivateToken: AccessCalls['createPrivateToken']): AccessCalls {
  return {
    createPrivateToken,
    send: async (method, path, { body, headers } = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        redirect: 'manual',
        headers: { 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const cookies = new Map(
        response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]!.split('=') as [string, string]),
      );
      const text = await response.text();
      return {
        status: response.status,
        body: response.headers.get('content-type') === 'application/json' ? JSON.parse(text) : text,
        cookies,
      };
    },
  };
}
