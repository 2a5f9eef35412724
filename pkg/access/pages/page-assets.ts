import { PageFiles } from '#pkg/http/index';
import { newAccessNotFound } from '../http/access-error.ts';
import type { Operation } from '../operations/operation.ts';
import { pagesJs } from './pages-js.ts';
import { accessStyleCss } from './style-css.ts';

/** The style sheet and the script of all pages. */
export function pageAssets(): Operation {
  const files = new PageFiles({
    'style.css': { text: accessStyleCss, contentType: 'text/css; charset=utf-8' },
    'pages.js': { text: pagesJs, contentType: 'text/javascript; charset=utf-8' },
  });
  return {
    method: 'GET',
    path: '/assets/{file}/',
    operationId: 'getPageAsset',
    access: 'open',
    handle: async ({ params }) => {
      const file = await files.find(params['file']!);
      if (file === undefined) throw newAccessNotFound();
      return { status: 200, file };
    },
  };
}
