export interface ReadyFacts {
  readonly url: string;
  readonly tlsUrl?: string;
  readonly accessUrl?: string;
  readonly accessTlsUrl?: string;
  readonly consoleUrl?: string;
  readonly tokenFile: string;
  readonly kubeconfig?: string;
  /** Path of the first administrator's password, while the file exists. */
  readonly passwordFile?: string;
  readonly username: string;
}

/** The message after the start: where the server is, how to log in, and what to try first. */
export function readyMessage({
  url,
  tlsUrl,
  accessUrl,
  accessTlsUrl,
  consoleUrl,
  tokenFile,
  kubeconfig,
  passwordFile,
  username,
}: ReadyFacts): string {
  const and = (other: string | undefined): string => (other === undefined ? '' : `, ${other}`);
  const login = `log in as ${username}${passwordFile === undefined ? '' : `; the password is in ${passwordFile}`}`;
  const rows: (readonly [string, string])[] = [
    ...(consoleUrl === undefined ? [] : [['Console', `${consoleUrl}: ${login}`] as const]),
    ['API', `${url}${and(tlsUrl)}`],
    ['Reference', `${url}/docs`],
    ...(accessUrl === undefined
      ? []
      : [['Access', `${accessUrl}${and(accessTlsUrl)}${consoleUrl === undefined ? `: ${login}` : ''}`] as const]),
    ['Token', `${tokenFile} (the administrator's)`],
    ['Try', `curl -H "Authorization: Bearer $(cat ${quoted(tokenFile)})" ${url}/api/v1/namespaces`],
    ...(kubeconfig === undefined ? [] : [['', `kubectl --kubeconfig ${quoted(kubeconfig)} get namespaces`] as const]),
    ['Next', 'README.md, "First success": declare a model, and use its API'],
  ];
  return [
    '',
    '  svc is ready. Ctrl-C stops it.',
    '',
    ...rows.map(([name, text]) => `  ${name.padEnd(10)} ${text}`),
    '',
    '',
  ].join('\n');
}

/** Quotes the path for a shell. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
