import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { PageSource } from './page-files.ts';
import { referenceStyleCss } from './style-css.ts';

/**
 * The files of every API reference page, from the package swagger-ui-dist, none of whose other files is served. The
 * page itself and its script belong to the API.
 */
export const referencePageFiles: Readonly<Record<string, PageSource>> = {
  'style.css': { text: referenceStyleCss, contentType: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': {
    path: () => packaged('swagger-ui-bundle.js'),
    contentType: 'text/javascript; charset=utf-8',
  },
  'swagger-ui.css': { path: () => packaged('swagger-ui.css'), contentType: 'text/css; charset=utf-8' },
  'favicon.png': { path: () => packaged('favicon-32x32.png'), contentType: 'image/png' },
};

/** Resolved at the first request, in the installed package. */
function packaged(file: string): string {
  return join(dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')), file);
}
