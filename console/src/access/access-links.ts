export const accessLink = '/access';
export const usersLink = '/access/users';
export const orgsLink = '/access/organizations';
export const rightsLink = '/access/rights';
export const credentialsLink = '/access/credentials';
export const changesLink = '/access/changes';
export const loginsLink = '/access/logins';

/** `org`: where it was found; the page shows the user there if the reader may not see all organizations. */
export function userLink(id: string, org: string): string {
  return `${usersLink}/${encodeURIComponent(id)}?org=${encodeURIComponent(org)}`;
}

export function orgLink(id: string): string {
  return `${orgsLink}/${encodeURIComponent(id)}`;
}
