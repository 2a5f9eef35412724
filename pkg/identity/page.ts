import type { ActingPage, UserInfo } from './user-info.ts';

/** The header with the name of the page of a plugin that a request comes from, in lower case. */
export const pageHeader = 'x-svc-page';

/** Keys in a user's `extra`, for the audit: the page that a request comes from, and the plugin that has it. */
const pageKey = 'authentication.svc.run/page';
const pagePluginKey = 'authentication.svc.run/plugin-of-page';

/** The user, restricted to what this page may do. */
export function throughPage(user: UserInfo, page: ActingPage): UserInfo {
  return { ...user, page, extra: { ...user.extra, [pageKey]: [page.name], [pagePluginKey]: [page.plugin] } };
}
