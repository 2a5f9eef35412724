import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { PageSource } from './page-files.ts';
import { referenceStyleCss } from './style-css.ts';

/**
 * What every page of an API's reference is made of, from the package swagger-ui-dist; none of its other files is
 * served. The page itself and its script are the API's own.
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

/** Looked for when first asked for, where it is installed. */
function packaged(file: string): string {
  return join(dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')), file);
}
