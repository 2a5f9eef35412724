import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { ConnectOptions } from '#pkg/client/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

/**
 * The client of the content platform that the options `<of>.api-url` and `<of>.ca-file` name. Throws OperatorError for
 * invalid options.
 */
export function platformServer(
  options: Options,
  of: 'svc.controllers' | 'svc.access',
  log: Logger,
): Pick<ConnectOptions, 'url' | 'ca'> {
  const url = options[`${of}.api-url`];
  const caFile = options[`${of}.ca-file`];
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new OperatorError(
      `${of}.api-url is ${JSON.stringify(url)}, which is not the URL of a server: http://host:port or https://host:port.`,
    );
  }
  return { url, ...(caFile === undefined ? {} : { ca: authorityOf(caFile, { option: `${of}.ca-file`, log }) }) };
}

/**
 * Reads the file at each call, because authorities are renewed. While it is invalid, for example half replaced, returns
 * the previous content and logs a warning once.
 */
export function authorityOf(file: string, { option, log }: { option: string; log: Logger }): () => string {
  let used: string;
  let complaint: string | undefined;
  try {
    used = readAuthority(file);
  } catch (error) {
    throw new OperatorError(
      `${option} is ${JSON.stringify(file)}, which cannot be used (${codeOf(error)}); name the PEM file of a certificate.`,
      { cause: error },
    );
  }
  return () => {
    try {
      used = readAuthority(file);
      complaint = undefined;
    } catch (error) {
      const reason = codeOf(error);
      if (reason !== complaint)
        log.warn({ file, reason }, 'the changed authority of the server cannot be used; the previous one stays in use');
      complaint = reason;
    }
    return used;
  };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'error';
}

function readAuthority(file: string): string {
  const text = readFileSync(file, 'utf8');
  // With no certificate, TLS would trust no server, or all default authorities.
  void new X509Certificate(text);
  return text;
}
