import type { IncomingMessage } from 'node:http';

const warning = /299 \S+ "((?:[^"\\]|\\.)*)"/g;

/**
 * The texts of the Warning headers of a response. They are UTF-8, which Node decodes as latin1. Source: RFC 7234, 5.5.
 */
export function warningTexts({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): string[] {
  const values = headersDistinct['warning'] ?? [];
  return values.flatMap((value) =>
    [...value.matchAll(warning)].map(([, text = '']) =>
      Buffer.from(text.replaceAll(/\\(.)/g, '$1'), 'latin1').toString('utf8'),
    ),
  );
}
