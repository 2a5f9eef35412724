import { useEffect, useState } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { followPluginPages } from '../frame/plugin-pages.ts';
import { lazy } from '../interface/lazy.tsx';
import { useTitle } from '../interface/use-title.ts';
import { followRights, forgetPermissionsOfOthers } from '../server/permissions.ts';
import type { SessionUser } from '../server/server.ts';
import { TopBar } from '../shell/top-bar.tsx';
import { texts } from '../texts/texts.ts';
import { ownPages, usePagesOfPlugins, type UserCenterPage } from './pages.ts';
// oxlint-disable-next-line import/no-unassigned-import -- They have no names.
import '../access/access.css';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './user-center.css';

const PageOfPlugin = lazy(() => import('../content/page-of-plugin.tsx'));
const AccountDialog = lazy(() => import('../shell/account-dialog.tsx'), null);

const words = texts.userCenter;

/** What surrounds every page of the user center: navigation, the account, the way to the console. */
export function UserCenter({ user }: { user: SessionUser }) {
  const [location] = useLocation();
  const links = [...ownPages, ...usePagesOfPlugins()];
  const [isNavigationOpen, setNavigationOpen] = useState(false);
  const [isAccountOpen, setAccountOpen] = useState(false);

  useEffect(() => {
    const end = new AbortController();
    forgetPermissionsOfOthers(user.id);
    followRights(end.signal);
    followPluginPages(end.signal);
    return () => end.abort();
  }, [user]);
  useEffect(() => setNavigationOpen(false), [location]);

  return (
    <div className="shell">
      <TopBar
        product={words.product}
        user={user}
        isNavigationOpen={isNavigationOpen}
        onNavigation={() => setNavigationOpen(!isNavigationOpen)}
        onAccount={() => setAccountOpen(true)}
      />
      <nav id="navigation" className={isNavigationOpen ? 'navigation open' : 'navigation'} aria-label={words.name}>
        <ul>
          {links.map(({ path, title }) => (
            <li key={path}>
              <Link href={path} aria-current={location === path ? 'page' : undefined}>
                {title}
              </Link>
            </li>
          ))}
        </ul>
        <h2>{words.elsewhere}</h2>
        <ul>
          <li>
            <a href="/console/">{words.console}</a>
          </li>
          <li>
            <a href="/settings/">{words.plainPages}</a>
          </li>
        </ul>
      </nav>
      <main id="content" className="access" tabIndex={-1}>
        <Switch>
          {ownPages.map((page) => (
            <Route key={page.path} path={page.path}>
              <ShownPage page={page} />
            </Route>
          ))}
          <Route path="/p/:name">{({ name }) => <PageOfPlugin key={name} name={name} place="userCenter" />}</Route>
          <Route>
            <h1>404</h1>
            <p>{words.noPage(location)}</p>
          </Route>
        </Switch>
      </main>
      {isAccountOpen ? (
        <AccountDialog user={user} onClose={() => setAccountOpen(false)}>
          <a href="/console/">{words.console}</a>
        </AccountDialog>
      ) : undefined}
    </div>
  );
}

function ShownPage({ page: { title, Page } }: { page: UserCenterPage }) {
  useTitle(title);
  return <Page />;
}
