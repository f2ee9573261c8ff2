(** From a formula to the automata of the strategies, and to the complex events that they select. *)

Require Import List Bool Arith NArith.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.Strategies.
Require Import Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise.
Require Mechanised.Engine.

(** A CEA that reads from the first event on: in the state [None] it waits for the first event of a run. *)
Definition waiting {D} (A : cea D) : cea D :=
  Automaton (option (state A)) (None :: map Some (states A))
    ((None, always, Skip, None)
      :: map (fun '(p, P, m, q) => (Some p, P, m, Some q)) (delta A)
      ++ map (fun '(_, P, m, q) => (None, P, m, Some q)) (from_initial A))
    (fun p => match p with Some _ => false | None => true end) (at_some (final A)).

(** The automaton of a strategy, or of none, of a CEA (FOUND Thm. 4 and Prop. 1). *)
Definition machine_of {D} (x : option strategy) (A : cea D) (dec : decidable_states A) : machine D :=
  match x with
  | None => determinised_machine A dec
  | Some Strict => strict_machine A dec
  | Some Nxt => nxt_machine (single_final A) (option_dec dec)
  | Some Last => last_machine A dec
  | Some Max => max_machine A dec
  end.

(** All words of marks with the configurations after them. *)
Fixpoint configurations {D} (M : machine D) (s : stream D) : list (list mark * configuration M) :=
  match s with
  | [] => [([], start M)]
  | t :: s => flat_map (fun '(w, c) => [(Take :: w, next M t Take c); (Skip :: w, next M t Skip c)])
      (configurations M s)
  end.

(** The positions of a word that ends now with a mark, from the first one on. *)
Definition event_of_word (w : list mark) : complex_event :=
  let P := filter (takes w) (seq 0 (length w)) in (hd 0 P, length w - 1, P).

(** What a strategy selects of the complex events of a formula, by its automaton. *)
Definition strategy_answers {D} (x : option strategy) (evs : stream D) (phi : formula D) : list complex_event :=
  let M := machine_of x (waiting (marked (compile phi))) (option_dec (Engine.marked_dec phi)) in
  flat_map (fun j => map (fun c => event_of_word (fst c))
    (filter (fun '(w, c) => match w with Take :: _ => accepts M c | _ => false end)
      (configurations M (rev (firstn (1 + j) evs))))) (seq 0 (length evs)).

(** Formulas whose answers take their first and their last event. *)
Fixpoint takes_ends {D} (phi : formula D) : bool :=
  match phi with
  | Atom _ => true
  | As phi _ | Filter phi _ | Plus phi | ConcatPlus phi | Rename _ _ phi => takes_ends phi
  | Or phi psi | Seq phi psi | Concat phi psi => takes_ends phi && takes_ends psi
  | And phi psi => takes_ends phi
  | _ => false
  end.
