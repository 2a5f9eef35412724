import type { ReactNode } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

export interface PageDialogProps {
  title: string;
  children: ReactNode;
  onClose: () => void;
  /** Can it be left without a decision? Default true. */
  isDismissable?: boolean;
  className?: string;
}

/** A dialog over the page; it is open while it is rendered. */
export function PageDialog({ title, children, onClose, isDismissable = true, className = '' }: PageDialogProps) {
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isDismissable={isDismissable}
      isKeyboardDismissDisabled={!isDismissable}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Modal className={`modal ${className}`}>
        <Dialog>
          <Heading slot="title">{title}</Heading>
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
