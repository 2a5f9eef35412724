import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { ConnectOptions } from '#pkg/client/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

/**
 * The content platform that a process works with, by its options `<of>.api-url` and `<of>.ca-file`. Throws
 * OperatorError for what cannot be used.
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
      `${of}.api-url is ${JSON.stringify(url)}, which is no URL of a server: http://host:port or https://host:port.`,
    );
  }
  return { url, ...(caFile === undefined ? {} : { ca: authorityOf(caFile, { option: `${of}.ca-file`, log }) }) };
}

/**
 * What is in the file whenever it is asked, as authorities are renewed; what was there before while it cannot be used,
 * half replaced: the log says so once.
 */
function authorityOf(file: string, { option, log }: { option: string; log: Logger }): () => string {
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
        log.warn({ file, reason }, 'the new authority of the server cannot be used; the one before stays');
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
  // With none in it nobody would be trusted, or everybody's.
  void new X509Certificate(text);
  return text;
}
