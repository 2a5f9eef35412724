import { lazy, type ComponentType } from 'react';
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

const builtin: readonly UserCenterPage[] = [
  { path: '/', title: texts.userCenter.profile.title, Page: ProfilePage },
  { path: '/password', title: texts.userCenter.password.title, Page: PasswordPage },
  { path: '/sessions', title: texts.access.credentials.sessions, Page: SessionsPage },
  { path: '/tokens', title: texts.access.credentials.tokens, Page: TokensPage },
  { path: '/keys', title: texts.access.credentials.keys, Page: KeysPage },
  { path: '/logins', title: texts.userCenter.logins.title, Page: LoginsPage },
  { path: '/organizations', title: texts.userCenter.orgs.title, Page: OrgsPage },
];

/**
 * The registry of pages: the shell lists and routes exactly what it answers, in this order, so that pages of plugins are
 * added here, at `/p/<plugin>/<page>`.
 */
export function useUserCenterPages(): readonly UserCenterPage[] {
  return builtin;
}
