import { useEffect, useState } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { followPluginPages, type PluginPage as PageInfo } from '../frame/plugin-pages.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { lazy } from '../interface/lazy.tsx';
import { PartBoundary } from '../interface/part-boundary.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { ListPage } from '../list/list-page.tsx';
import { ObjectPage } from '../object/object-page.tsx';
import { OverviewPage } from '../pages/overview-page.tsx';
import { followModels, models, takeModels } from '../server/discovery.ts';
import { useObservable } from '../server/observable.ts';
import { followRights, forgetPermissionsOfOthers } from '../server/permissions.ts';
import type { SessionUser } from '../server/server.ts';
import { texts } from '../texts/texts.ts';
import { followSavedViews } from '../views/saved-view.ts';
import { Navigation } from './navigation.tsx';
import { TopBar } from './top-bar.tsx';

// What few visits need is loaded when it is opened.
const AccessPage = lazy(() => import('../access/access-page.tsx'));
const ApplyPage = lazy(() => import('../apply/apply-page.tsx'));
const EventsPage = lazy(() => import('../events/events-page.tsx'));
const FieldsPage = lazy(() => import('../fields/fields-page.tsx'));
const HealthPage = lazy(() => import('../health/health-page.tsx'));
const NewPage = lazy(() => import('../object/new-page.tsx'));
const PageOfPlugin = lazy(() => import('../content/page-of-plugin.tsx'));
const PluginPage = lazy(() => import('../plugins/plugin-page.tsx'));
const PluginsPage = lazy(() => import('../plugins/plugins-page.tsx'));
// Letters that are typed while a dialog is loaded are not keys of the page.
const loadingDialog = <div role="dialog" hidden />;
const Palette = lazy(() => import('./palette.tsx'), loadingDialog);
const KeyList = lazy(() => import('./key-list.tsx'), loadingDialog);
const AccountDialog = lazy(() => import('./account-dialog.tsx'), loadingDialog);
const ActionDialog = lazy(() => import('../actions/action-dialog.tsx'), loadingDialog);

/** What surrounds every page: navigation, search and commands, keys. */
export function Shell({ user }: { user: SessionUser }) {
  const [location, navigate] = useLocation();
  const [isNavigationOpen, setNavigationOpen] = useState(false);
  const [dialog, setDialog] = useState<'palette' | 'keys' | 'account' | undefined>(undefined);
  const [command, setCommand] = useState<PageInfo | undefined>(undefined);
  const known = useObservable(models);
  const [failure, setFailure] = useState<unknown>(undefined);

  useEffect(() => {
    const end = new AbortController();
    forgetPermissionsOfOthers(user.id);
    takeModels().then(() => setFailure(undefined), setFailure);
    followModels(end.signal);
    followRights(end.signal);
    return () => end.abort();
  }, [user]);
  const isReady = known !== undefined;
  useEffect(() => {
    const end = new AbortController();
    // After what the page itself reads.
    if (isReady) {
      followSavedViews(end.signal);
      followPluginPages(end.signal);
    }
    return () => end.abort();
  }, [user, isReady]);
  useEffect(() => setNavigationOpen(false), [location]);

  const close = (): void => setDialog(undefined);
  useShortcut('Control+k', () => setDialog('palette'));
  useShortcut('?', () => setDialog('keys'));
  useShortcut('g o', () => navigate('/'));
  useShortcut('g a', () => navigate('/apply'));
  useShortcut('g u', () => navigate('/access'));
  useShortcut('g p', () => navigate('/plugins'));
  useShortcut('g e', () => navigate('/events'));
  useShortcut('g h', () => navigate('/health'));

  return (
    <div className="shell">
      <TopBar
        product={texts.product}
        user={user}
        isNavigationOpen={isNavigationOpen}
        onNavigation={() => setNavigationOpen(!isNavigationOpen)}
        onAccount={() => setDialog('account')}
      >
        <button type="button" className="button plain search" onClick={() => setDialog('palette')}>
          {texts.palette.open} <kbd>Ctrl K</kbd>
        </button>
      </TopBar>
      <Navigation isOpen={isNavigationOpen} onLeave={() => setNavigationOpen(false)} />
      <main id="content" tabIndex={-1}>
        {failure === undefined ? undefined : <FailureNote failure={failure} />}
        {known === undefined ? (
          failure === undefined && <p role="status">{texts.loading}</p>
        ) : (
          <PartBoundary place={location}>
            <Switch>
              <Route path="/" component={OverviewPage} />
              <Route path="/apply" component={ApplyPage} />
              <Route path="/access/*?" component={AccessPage} />
              <Route path="/plugins" component={PluginsPage} />
              <Route path="/plugins/:name">{(params) => <PluginPage key={location} {...decoded(params)} />}</Route>
              <Route path="/p/:name">
                {(params) => <PageOfPlugin key={params.name} place="page" {...decoded(params)} />}
              </Route>
              <Route path="/events" component={EventsPage} />
              <Route path="/health" component={HealthPage} />
              <Route path="/g/:group/:plural">{(params) => <ListPage key={location} {...decoded(params)} />}</Route>
              <Route path="/g/:group/:plural/fields">
                {(params) => <FieldsPage key={location} {...decoded(params)} />}
              </Route>
              <Route path="/g/:group/:plural/new">{(params) => <NewPage key={location} {...decoded(params)} />}</Route>
              <Route path="/g/:group/:plural/:namespace/:name">
                {(params) => <ObjectPage key={location} {...decoded(params)} />}
              </Route>
              <Route>
                <h1>404</h1>
                <p>{texts.list.unknown(location)}</p>
              </Route>
            </Switch>
          </PartBoundary>
        )}
      </main>
      <PartBoundary place={dialog ?? command?.name ?? ''}>
        {dialog === 'palette' ? (
          <Palette onClose={close} onKeys={() => setDialog('keys')} onCommand={setCommand} />
        ) : undefined}
        {command === undefined ? undefined : (
          <ActionDialog page={command} rows={[]} onClose={() => setCommand(undefined)} />
        )}
        {dialog === 'keys' ? <KeyList onClose={close} /> : undefined}
        {dialog === 'account' ? (
          <AccountDialog user={user} onClose={close}>
            <a href="/uc/">{texts.userCenter.name}</a>
          </AccountDialog>
        ) : undefined}
      </PartBoundary>
    </div>
  );
}

/** The router leaves encoded what has a meaning in addresses, such as the `:` of many names. */
function decoded<T extends object>(params: T): T {
  return Object.fromEntries(
    Object.entries(params).map(([name, text]) => [name, typeof text === 'string' ? decodedText(text) : text]),
  ) as T;
}

function decodedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A person typed it.
    return text;
  }
}
