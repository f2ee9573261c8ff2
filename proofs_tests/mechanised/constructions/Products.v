(** AND, ALL and UNLESS of VCEA (SOCEL Sec. 5.2). *)

Require Import List NArith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Automaton Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise.

(** All pairs of transitions that a test lets pass, with labels joined. *)
Definition together {D Q R} (ok : labels -> labels -> Q -> R -> bool) (ts : list (transition D Q labels))
    (us : list (transition D R labels)) : list (transition D (Q * R) labels) :=
  flat_map (fun '(p, P, L, q) => flat_map (fun '(p', P', L', q') =>
    if ok L L' q q' then [((p, p'), (fun t => P t && P' t), both L L', (q, q'))] else []) us) ts.

(** AND: both run over the interval, and give each event the same labels. *)
Definition same_runs {D} (A B : vcea D) : vcea D :=
  Automaton (state A * state B) (pairs (states A) (states B))
    (together (fun L L' _ _ => N.eqb L L') (delta A) (delta B))
    (fun '(p, q) => initial A p && initial B q) (fun '(p, q) => final A p && final B q).

(** ALL: one may begin later than the other, and end earlier. A part is ahead of its run, in it, or past it. *)
Inductive place (Q : Type) := Ahead | At (q : Q) | Past.
Arguments Ahead {Q}. Arguments At {Q}. Arguments Past {Q}.
Definition is_ahead {Q} (x : place Q) : bool := match x with Ahead => true | _ => false end.
Definition is_past {Q} (x : place Q) : bool := match x with Past => true | _ => false end.

Definition padded {D} (A : vcea D) : vcea D :=
  Automaton (place (state A)) (Ahead :: Past :: map At (states A))
    ((Ahead, always, none, Ahead) :: (Past, always, none, Past)
      :: map (fun q => (At q, always, none, Past)) (filter (final A) (states A))
      ++ map (fun '(_, P, L, q) => (Ahead, P, L, At q)) (from_initial A)
      ++ map (fun '(p, P, L, q) => (At p, P, L, At q)) (delta A))
    is_ahead (fun x => match x with Ahead => false | At q => final A q | Past => true end).

Definition overlapping {D} (A B : vcea D) : vcea D :=
  Automaton (place (state A) * place (state B)) (pairs (states (padded A)) (states (padded B)))
    (together (fun _ _ x y => negb (is_ahead x && is_ahead y)) (delta (padded A)) (delta (padded B)))
    (fun '(x, y) => is_ahead x && is_ahead y)
    (fun '(x, y) => final (padded A) x && final (padded B) y && negb (is_past x && is_past y)).

(** UNLESS: the states of B that runs from any event of the interval on may be in; none may be final. *)
Section Without.
  Context {D : Type} (A B : vcea D) (dec : decidable_states B).
  Definition follow (t : event D) (U : list (state B)) : list (state B) :=
    filter (fun q => existsb (fun '(p, P, _, q') =>
      ((if in_dec dec p U then true else false) || initial B p) && P t && if dec q q' then true else false)
      (delta B)) (states B).
  Definition without : vcea D :=
    Automaton (state A * list (state B)) (pairs (states A) (sublists (states B)))
      (flat_map (fun '(p, P, L, q) => flat_map (fun U => map (fun U' =>
          ((p, U), (fun t => P t && (if list_eq_dec dec (follow t U) U' then true else false)
            && negb (existsb (final B) U')), L, (q, U')))
        (sublists (states B))) (sublists (states B))) (delta A))
      (fun '(p, U) => initial A p && empty U) (fun '(p, U) => final A p).
End Without.

(** The formulas that have a VCEA by these constructions and those of [compile]: OR of filters is OR of formulas. *)
Fixpoint unary_parts {D} (c : Formula.condition D) : bool :=
  match c with
  | Formula.AndAlso c d | Formula.OrElse c d => unary_parts c && unary_parts d
  | c => unary c
  end.
Fixpoint has_vcea {D} (phi : Formula.formula D) : bool :=
  match phi with
  | Formula.Atom _ | Formula.Not _ => true
  | Formula.As phi _ | Formula.Plus phi | Formula.ConcatPlus phi | Formula.Project _ phi
  | Formula.Rename _ _ phi => has_vcea phi
  | Formula.Filter phi c => has_vcea phi && unary_parts c
  | Formula.Or phi psi | Formula.Seq phi psi | Formula.Concat phi psi | Formula.And phi psi
  | Formula.All phi psi | Formula.Unless phi psi => has_vcea phi && has_vcea psi
  | Formula.Select _ _ | Formula.Within _ _ => false
  end.
