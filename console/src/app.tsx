import { lazy, Suspense, useEffect, useState } from 'react';
import { Router } from 'wouter';
import { FailureNote } from './interface/failure-note.tsx';
import { mayLeave } from './interface/unsaved.ts';
import { useTitle } from './interface/use-title.ts';
import { readModelsEarly } from './server/discovery.ts';
import { useObservable } from './server/observable.ts';
import { checkSession, mayHaveSession, session } from './server/server.ts';
import { LoginForm } from './shell/login-form.tsx';
import { Shell } from './shell/shell.tsx';
import { texts } from './texts/texts.ts';

const LoginDialog = lazy(() => import('./shell/login-dialog.tsx'));

export function App() {
  const state = useObservable(session);
  if (state.name === 'checking') return <Start />;
  if (state.name === 'none') return <LoginPage />;
  return (
    <Router
      base="/console"
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
    if (mayHaveSession()) readModelsEarly();
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
