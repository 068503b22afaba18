import React, { useState as state } from 'react';
import * as layout from './layout';
import { nearest as closest } from './layout';

interface Props { label: string }

/** Shows one cluster. */
export const Panel = ({ label }: Props) => {
  const [open, setOpen] = state(false);
  return <Badge text={label} onClick={() => setOpen(!open)} />;
};

export default function Badge(props: { text: string }) {
  closest({ x: 0, y: 0 });
  layout.nearest({ x: 1, y: 1 });
  return <b>{props.text}</b>;
}
