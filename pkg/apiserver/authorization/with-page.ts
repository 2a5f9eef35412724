import { newForbiddenRequest, type Filter } from '#pkg/http/index';
import { pageHeader, throughPage, type ActingPage, type Attributes } from '#pkg/identity/index';
import { StatusError } from '#pkg/apimachinery/index';

/** The pages of plugins, and what their rules allow; `RoleIndex` is one. */
export interface PageRules {
  findPage(name: string): ActingPage | undefined;
  pageAllows(page: ActingPage, attributes: Omit<Attributes, 'user'>): boolean;
}

/**
 * Restricts a request that names a page of a plugin (`X-SVC-Page`) to what the rules of that page allow, also on paths
 * that are open to anyone: 403 for a page that is not known. Everything that is authorized later for this request, such
 * as each watch of a stream, is restricted too. Must run after `withImpersonation`.
 */
export function withPage(pages: PageRules | undefined): Filter {
  return (next) => async (context) => {
    const name = context.request.headers[pageHeader];
    if (name === undefined) return next(context);
    const page = typeof name === 'string' ? pages?.findPage(name) : undefined;
    if (pages === undefined || page === undefined)
      throw newRefusal(`the page ${JSON.stringify(String(name).slice(0, 253))} is not known`);
    if (context.impersonator !== undefined) throw newRefusal('a page cannot act as another user');
    context.user = throughPage(context.user, page);
    if (!pages.pageAllows(page, context.info))
      throw newForbiddenRequest({ ...context.info, user: context.user }, notAllowed(page));
    await next(context);
  };
}

/** Why a request of a page is refused. */
export function notAllowed({ name }: ActingPage): string {
  return `the rules of the page ${JSON.stringify(name)} do not allow it`;
}

function newRefusal(message: string): StatusError {
  return new StatusError(403, 'Forbidden', `forbidden: ${message}`, { details: {} });
}
