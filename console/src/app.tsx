import { lazy, StrictMode, Suspense, useEffect, useState, type ComponentType } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { showAppearance } from './interface/appearance.ts';
import { FailureNote } from './interface/failure-note.tsx';
import { mayLeave } from './interface/unsaved.ts';
import { ProductName, useTitle } from './interface/use-title.ts';
import { useObservable } from './server/observable.ts';
import { checkSession, session, type SessionUser } from './server/server.ts';
import { LoginForm } from './shell/login-form.tsx';
import { texts } from './texts/texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './styles.css';

const LoginDialog = lazy(() => import('./shell/login-dialog.tsx'));

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
  if (state.name === 'checking') return <Start />;
  if (state.name === 'none') return <LoginPage />;
  return (
    <Router
      base={base}
      aroundNav={(navigate, to, options) => {
        // Another view of the same page loses nothing.
        const isSamePage = new URL(to, location.href).pathname === location.pathname;
        if (isSamePage || mayLeave()) navigate(to, options);
      }}
    >
      <Shell key={state.user.id} user={state.user} />
      {state.name === 'expired' ? (
        <Suspense>
          <LoginDialog username={state.user.username} />
        </Suspense>
      ) : undefined}
    </Router>
  );
}

function Start() {
  const [failure, setFailure] = useState<unknown>(undefined);
  useEffect(() => {
    checkSession().catch(setFailure);
  }, []);
  return (
    <main className="start">
      {failure === undefined ? <p role="status">{texts.loading}</p> : <FailureNote failure={failure} />}
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
