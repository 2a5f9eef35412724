import { StrictMode, type ComponentType } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { useSearch } from 'wouter/use-browser-location';
import { showAppearance } from './interface/appearance.ts';
import { FailureNote } from './interface/failure-note.tsx';
import { keepFocus } from './interface/keep-focus.ts';
import { lazy } from './interface/lazy.tsx';
import { mayLeaveFor } from './interface/unsaved.ts';
import { ProductName, useTitle } from './interface/use-title.ts';
import { useObservable } from './server/observable.ts';
import { checkSession, session, type SessionState, type SessionUser } from './server/server.ts';
import { LoginForm } from './shell/login-form.tsx';
import { texts } from './texts/texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './styles.css';

const LoginDialog = lazy(() => import('./shell/login-dialog.tsx'), null);

interface AppOptions {
  /** Where the server has its page. */
  base: string;
  product: string;
  /** What a user sees who is logged in. */
  Shell: ComponentType<{ user: SessionUser }>;
}

/** Shows it in the page. */
export function startApp({ product, ...options }: AppOptions): void {
  showAppearance();
  keepFocus();
  // The answer is on its way while the page is drawn.
  checkSession().catch((failure: unknown) => session.set({ name: 'unknown', failure }));
  document.documentElement.lang = texts.language;
  createRoot(document.querySelector('#root')!).render(
    <StrictMode>
      <ProductName value={product}>
        <App {...options} />
      </ProductName>
    </StrictMode>,
  );
}

/** The login, and then the pages of the user. */
function App({ base, Shell }: Omit<AppOptions, 'product'>) {
  const state = useObservable(session);
  if (state.name === 'checking' || state.name === 'unknown') return <Start state={state} />;
  if (state.name === 'none') return <LoginPage />;
  return (
    <Router
      base={base}
      searchHook={useQuery}
      aroundNav={(navigate, to, options) => {
        if (mayLeaveFor(to)) navigate(to, options);
      }}
    >
      <Shell key={state.user.id} user={state.user} />
      {state.name === 'expired' ? <LoginDialog username={state.user.username} /> : undefined}
    </Router>
  );
}

/** The router decodes a query before its parts are read: without this `%2541`, which means `%41`, would be `A`. */
function useQuery(): string {
  return useSearch().replaceAll('%25', '%2525');
}

function Start({ state }: { state: Extract<SessionState, { name: 'checking' | 'unknown' }> }) {
  return (
    <main className="start">
      {state.name === 'checking' ? <p role="status">{texts.loading}</p> : <FailureNote failure={state.failure} />}
    </main>
  );
}

function LoginPage() {
  useTitle(texts.login.title);
  return (
    <main className="start">
      <h1>{texts.login.title}</h1>
      <LoginForm />
    </main>
  );
}
