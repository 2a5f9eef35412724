import type { AccessDatabase } from '../access-database.ts';
import type { AccessKeys } from '../access-keys/access-keys.ts';
import type { Audit } from '../audit/audit.ts';
import type { Operation } from '../operations/operation.ts';
import type { LoginService } from '../login/login-service.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { PersonalTokens } from '../tokens/personal-tokens.ts';
import type { OwnProfile } from '../users/own-profile.ts';
import { loginPages } from './login-page.ts';
import { seeOther } from './page.ts';
import { pageAssets } from './page-assets.ts';
import { accessKeyPages } from './settings/access-key-pages.ts';
import { passwordPages } from './settings/password-page.ts';
import { profilePages } from './settings/profile-page.ts';
import { personalTokenPages } from './settings/personal-token-pages.ts';
import { sessionPages } from './settings/session-pages.ts';

export interface PageParts {
  database: AccessDatabase;
  audit: Audit;
  login: LoginService;
  sessions: Sessions;
  profile: OwnProfile;
  accessKeys: AccessKeys;
  personalTokens: PersonalTokens;
  /** Other origins where a login may continue. */
  allowedOrigins: readonly string[];
}

/** The pages: login, logout and settings. They are not part of the API and not in its document. */
export function pageOperations(parts: PageParts): Operation[] {
  return [
    {
      method: 'GET',
      path: '/',
      operationId: 'getRoot',
      access: 'open',
      handle: () => Promise.resolve(seeOther('/settings/')),
    },
    pageAssets(),
    ...loginPages(parts),
    ...profilePages(parts.profile),
    ...passwordPages(parts.profile),
    ...accessKeyPages(parts.accessKeys),
    ...personalTokenPages(parts.personalTokens),
    ...sessionPages(parts),
  ];
}
