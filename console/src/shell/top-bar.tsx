import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { SessionUser } from '../server/server.ts';
import { texts } from '../texts/texts.ts';

interface TopBarProps {
  product: string;
  user: SessionUser;
  isNavigationOpen: boolean;
  onNavigation: () => void;
  onAccount: () => void;
  /** Between the product and the account. */
  children?: ReactNode;
}

/** The first line of every page: the way to the content and to the navigation, the product, and the account. */
export function TopBar({ product, user, isNavigationOpen, onNavigation, onAccount, children }: TopBarProps) {
  return (
    <>
      <a className="skip" href="#content">
        {texts.skipToContent}
      </a>
      <header className="bar">
        <button
          type="button"
          className="button plain menu-button"
          aria-expanded={isNavigationOpen}
          aria-controls="navigation"
          onClick={onNavigation}
        >
          {texts.navigation.open}
        </button>
        <Link href="/" className="product">
          {product}
        </Link>
        {children}
        <button
          type="button"
          className="button plain account"
          aria-label={texts.login.loggedInAs(user.username)}
          onClick={onAccount}
        >
          {user.username}
        </button>
      </header>
    </>
  );
}
