/** The servers: `basic` is a second replica of the content platform with Basic enabled. */
export type ServerName = 'access' | 'platform' | 'basic';

/** A request as it is sent. */
export interface MatrixRequest {
  readonly server: ServerName;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** A list is sent as several fields of that name. */
  readonly headers: Record<string, string | readonly string[]>;
  body?: string;
}

/** As a shell command; its secrets belong to a server that no longer exists. */
export function curlOf(request: MatrixRequest, origin: string): string {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((each) => `-H ${quote(`${name}: ${each}`)}`),
  );
  const body = request.body === undefined ? [] : ['--data-binary', quote(request.body)];
  return ['curl -i --path-as-is', '-X', request.method, ...headers, ...body, quote(`${origin}${request.target}`)].join(
    ' ',
  );
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
