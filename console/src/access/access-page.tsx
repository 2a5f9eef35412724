import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { texts } from '../texts/texts.ts';
import {
  accessLink,
  changesLink,
  credentialsLink,
  loginsLink,
  orgsLink,
  rightsLink,
  usersLink,
} from './access-links.ts';
import { useAccessRights } from './access-rights.ts';
import { CredentialsPage } from './credentials-page.tsx';
import { ChangesPage, LoginsPage } from './log-pages.tsx';
import { OrgPage } from './org-page.tsx';
import { OrgsPage } from './orgs-page.tsx';
import { RightsPage } from './rights-page.tsx';
import { UserPage } from './user-page.tsx';
import { UsersPage } from './users-page.tsx';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './access.css';

const pages = [
  [usersLink, texts.access.users.title],
  [orgsLink, texts.access.orgs.title],
  [rightsLink, texts.access.rights.title],
  [credentialsLink, texts.access.credentials.tab],
  [changesLink, texts.access.logs.changes],
  [loginsLink, texts.access.logs.logins],
] as const;

/** Users, organizations, who may what, credentials, and the audit. */
export default function AccessPage() {
  const [location] = useLocation();
  return (
    <div className="access">
      <nav className="tabs" aria-label={texts.access.title}>
        {pages.map(([href, text]) => (
          <Link
            key={href}
            href={href}
            aria-current={location === href ? 'page' : location.startsWith(`${href}/`) ? 'true' : undefined}
          >
            {text}
          </Link>
        ))}
      </nav>
      <Switch>
        <Route path={accessLink} component={FirstPage} />
        <Route path={usersLink} component={UsersPage} />
        <Route path={`${usersLink}/:id`}>{({ id }) => <UserPage key={id} id={id} />}</Route>
        <Route path={orgsLink} component={OrgsPage} />
        <Route path={`${orgsLink}/:id`}>{({ id }) => <OrgPage key={id} id={id} />}</Route>
        <Route path={rightsLink} component={RightsPage} />
        <Route path={credentialsLink} component={CredentialsPage} />
        <Route path={changesLink} component={ChangesPage} />
        <Route path={loginsLink} component={LoginsPage} />
        <Route>
          <h1>404</h1>
          <p>{texts.access.noPage}</p>
        </Route>
      </Switch>
    </div>
  );
}

/** Who may read no users has at least their own credentials. */
function FirstPage() {
  const rights = useAccessRights();
  if (rights === undefined) return <p role="status">{texts.loading}</p>;
  return <Redirect to={rights.readableOrgs?.length === 0 ? credentialsLink : usersLink} replace />;
}
