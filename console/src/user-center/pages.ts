import type { ComponentType } from 'react';
import { pageLink, usePluginPages } from '../frame/plugin-pages.ts';
import { lazy } from '../interface/lazy.tsx';
import { texts } from '../texts/texts.ts';
import { ProfilePage } from './profile-page.tsx';

/** One page of the user center. */
export interface UserCenterPage {
  /** Below `/uc`. */
  path: string;
  title: string;
  Page: ComponentType;
}

const PasswordPage = lazy(() => import('./password-page.tsx'));
const SessionsPage = lazy(() => import('./sessions-page.tsx'));
const TokensPage = lazy(() => import('./tokens-page.tsx'));
const KeysPage = lazy(() => import('./keys-page.tsx'));
const LoginsPage = lazy(() => import('./logins-page.tsx'));
const OrgsPage = lazy(() => import('./orgs-page.tsx'));

/** Those of the user center itself, in their order. */
export const ownPages: readonly UserCenterPage[] = [
  { path: '/', title: texts.userCenter.profile.title, Page: ProfilePage },
  { path: '/password', title: texts.userCenter.password.title, Page: PasswordPage },
  { path: '/sessions', title: texts.access.credentials.sessions, Page: SessionsPage },
  { path: '/tokens', title: texts.access.credentials.tokens, Page: TokensPage },
  { path: '/keys', title: texts.access.credentials.keys, Page: KeysPage },
  { path: '/logins', title: texts.userCenter.logins.title, Page: LoginsPage },
  { path: '/organizations', title: texts.userCenter.orgs.title, Page: OrgsPage },
];

/** Where the pages of plugins are, as they are now. The page at such a path stays when its plugin stops. */
export function usePagesOfPlugins(): readonly Pick<UserCenterPage, 'path' | 'title'>[] {
  const { value = [] } = usePluginPages('userCenter');
  return value.map(({ name, title }) => ({ path: pageLink(name), title }));
}
