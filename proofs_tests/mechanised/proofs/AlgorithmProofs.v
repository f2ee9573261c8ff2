(** Algorithm 1 outputs exactly the answers at each event, each once (CORE Thm. 4). *)

Require Import Mechanised.Tactics Mechanised.TecsProofs.
Require Import Permutation Sorted.
Require Import Mechanised.Stream Mechanised.OpenEvents Mechanised.Nodes Mechanised.Tecs.

Lemma NoDup_app {A} (l l' : list A) : NoDup l -> NoDup l' -> (forall x, In x l -> ~ In x l') -> NoDup (l ++ l').
Proof.
  induction 1 as [|x l N H IH]; intros H' X; cbn; auto. constructor.
  - rewrite in_app_iff. intros [I|I]; [auto | apply (X x); cbn; auto].
  - apply IH; auto. intros y I. apply X. now right.
Qed.

Lemma NoDup_app_parts {A} (l l' : list A) : NoDup (l ++ l') -> NoDup l /\ NoDup l'.
Proof.
  induction l as [|x l IH]; cbn; intros H; [split; [constructor | auto]|]. inversion H; subst.
  rewrite in_app_iff in *. destruct IH; auto. split; auto. constructor; auto.
Qed.

Lemma NoDup_flat_map {A B} (f : A -> list B) l : NoDup l -> (forall a, In a l -> NoDup (f a)) ->
  (forall a b x, In a l -> In b l -> In x (f a) -> In x (f b) -> a = b) -> NoDup (flat_map f l).
Proof.
  induction 1 as [|a l N H IH]; intros F X; cbn; [constructor|]. apply NoDup_app.
  - apply F. now left.
  - apply IH; intros; [apply F; now right | eapply X; eauto; now right].
  - intros x I J. apply in_flat_map in J as (b & J & K). apply N.
    rewrite (X a b x); auto; [now left | now right].
Qed.

Lemma NoDup_in_flat_map {A B} (f : A -> list B) l a : NoDup (flat_map f l) -> In a l -> NoDup (f a).
Proof.
  intros N I. apply in_split in I as (l1 & l2 & ->). rewrite flat_map_app in N. cbn in N.
  apply NoDup_app_parts in N as [_ N]. now apply NoDup_app_parts in N as [N _].
Qed.

Section Proofs.
  Context {D : Type} (A : deterministic D).

  (** * Open complex events *)

  Lemma open_below s x q : open A s x q -> fst x < length s /\ forall k, In k (snd x) -> k < length s.
  Proof.
    induction 1 as [s t m q H | s t m i P p q H [IH1 IH2] N]; cbn in *.
    - split; [lia|]. destruct m; cbn; intros k K; break; lia.
    - split; [lia|]. destruct m; cbn; intros k K; [destruct K as [<-|K]; [lia|]|]; specialize (IH2 k K); lia.
  Qed.

  (** Whether the latest position is taken tells the mark. *)
  Lemma take_at_inj m n j P Q : ~ In j P -> ~ In j Q -> take_at m j P = take_at n j Q -> m = n /\ P = Q.
  Proof.
    destruct m, n; cbn; intros HP HQ E; subst; auto; [now injection E | |]; exfalso; cbn in *; auto.
  Qed.

  Lemma open_cons t s x q : open A (t :: s) x q <->
    (exists m, next A t m (q0 A s) = Some q /\ x = (length s, take_at m (length s) [])) \/
    (exists m i P p, open A s (i, P) p /\ next A t m p = Some q /\ x = (i, take_at m (length s) P)).
  Proof.
    split; [inversion 1; subst; eauto 9|].
    intros [(m & N & ->)|(m & i & P & p & H & N & ->)]; econstructor; eauto.
  Qed.

  Lemma open_fresh s i P p : open A s (i, P) p -> i < length s /\ ~ In (length s) P.
  Proof.
    intros H. apply open_below in H as [L B]; cbn in *. split; auto. intros I. apply B in I. lia.
  Qed.

  Lemma open_state s : forall x p q, open A s x p -> open A s x q -> p = q.
  Proof.
    induction s as [|t s IH]; intros x p q H K; [inversion H|]. rewrite open_cons in H, K.
    destruct H as [(m & N & ->)|(m & i & P & r & H & N & ->)];
      destruct K as [(m' & N' & E)|(m' & i' & P' & r' & K & N' & E)]; pose proof (f_equal fst E) as Ei; pose proof (f_equal snd E) as E'; cbn in Ei, E'; clear E; subst.
    - apply take_at_inj in E' as [-> _]; cbn; auto. congruence.
    - apply open_fresh in K as [L _]. lia.
    - apply open_fresh in H as [L _]. lia.
    - pose proof (open_fresh _ _ _ _ H) as [_ X]. pose proof (open_fresh _ _ _ _ K) as [_ Y].
      apply take_at_inj in E' as [-> ->]; auto. rewrite (IH _ _ _ H K) in N. congruence.
  Qed.

  (** * Tables *)

  Definition heads (T : table A) : list nat := map (fun e => head_max (snd e)) T.
  Definition content (T : table A) (q : key A) : list open_event :=
    flat_map (fun '(p, ns) => if key_dec A p q then all_paths ns else []) T.
  Definition sound_table (T : table A) : Prop :=
    NoDup (map fst T) /\ Forall (fun e => union_list (snd e)) T /\ StronglySorted ge (heads T).

  Lemma in_content T q x : In x (content T q) <-> exists ns, In (q, ns) T /\ In x (all_paths ns).
  Proof.
    unfold content. rewrite in_flat_map. split.
    - intros ([p ns] & I & H). destruct (key_dec A p q) as [->|]; [eauto | easy].
    - intros (ns & I & H). exists (q, ns). split; auto. destruct (key_dec A q q); easy.
  Qed.

  Lemma content_entry T q ns : In (q, ns) T -> NoDup (content T q) -> NoDup (all_paths ns).
  Proof.
    intros I N. eapply NoDup_in_flat_map in N; [|exact I]. cbn in N. destruct (key_dec A q q); easy.
  Qed.

  Lemma sorted_app l x : StronglySorted ge l -> Forall (fun h => h >= x) l -> StronglySorted ge (l ++ [x]).
  Proof.
    induction 1 as [|h l H IH F]; intros G; cbn; [repeat constructor|]. inversion G; subst.
    constructor; auto. apply Forall_app. auto.
  Qed.

  Lemma add_keys q n ns T : map fst (add A q n ns T) = map fst T \/
    (map fst (add A q n ns T) = map fst T ++ [q] /\ ~ In q (map fst T)).
  Proof.
    induction T as [|[p ms] T IH]; cbn; [right; auto|]. destruct (key_dec A p q); cbn; [auto|].
    destruct IH as [->|[-> N]]; [auto | right]. split; auto. intros [|]; auto.
  Qed.

  Lemma add_correct q n ns T : sound_table T -> Forall (fun h => h >= max_start n) (heads T) ->
    good n -> union_list ns -> head_max ns = max_start n -> Permutation (all_paths ns) (paths n) ->
    sound_table (add A q n ns T) /\ Forall (fun h => h >= max_start n) (heads (add A q n ns T)) /\
    forall q', Permutation (content (add A q n ns T) q')
      ((if key_dec A q q' then paths n else []) ++ content T q').
  Proof.
    intros (N & U & So) G Gn Un Hn Pn.
    assert (X : Forall (fun e => union_list (snd e)) (add A q n ns T) /\
      (heads (add A q n ns T) = heads T \/ heads (add A q n ns T) = heads T ++ [max_start n]) /\
      forall q', Permutation (content (add A q n ns T) q')
        ((if key_dec A q q' then paths n else []) ++ content T q')).
    { clear N So. induction T as [|[p ms] T IH]; cbn [add].
      - split; [auto|]. split; [right; cbn; now rewrite Hn|]. intros q'. cbn. rewrite !app_nil_r.
        destruct (key_dec A q q'); auto.
      - inversion U as [|? ? U0 U']; subst. inversion G as [|? ? G0 G']; subst. cbn in U0, G0.
        destruct (key_dec A p q) as [->|NE].
        + destruct (insert_correct n ms U0 Gn G0) as (U1 & H1 & P1).
          split; [constructor; auto|]. split; [left; cbn; now rewrite H1|]. intros q'. cbn.
          destruct (key_dec A q q'); auto. now rewrite P1, app_assoc.
        + destruct (IH U' G') as (U1 & H1 & P1). split; [constructor; auto|]. split.
          * change (heads ((p, ms) :: add A q n ns T)) with (head_max ms :: heads (add A q n ns T)).
            destruct H1 as [-> | ->]; auto.
          * intros q'. cbn. rewrite (P1 q'). apply Permutation_app_swap_app. }
    destruct X as (U' & H' & P'). split; [split; [|split]|split]; auto.
    - destruct (add_keys q n ns T) as [->|[-> NI]]; auto. apply NoDup_app; auto.
      + repeat constructor. easy.
      + intros x I [<-|[]]. auto.
    - destruct H' as [-> | ->]; auto. now apply sorted_app.
    - destruct H' as [-> | ->]; auto. apply Forall_app. auto.
  Qed.

  (** What a job adds to the open complex events of q. *)
  Definition piece (t : event D) (j : nat) (q : key A) (job : key A * list node) : list open_event :=
    let '(p, ns) := job in
    (match next A t Take p with Some r => if key_dec A r q then map (fun '(i, P) => (i, j :: P)) (all_paths ns) else [] | None => [] end)
    ++ (match next A t Skip p with Some r => if key_dec A r q then all_paths ns else [] | None => [] end).

  Lemma execute_correct t j T p ns : sound_table T -> union_list ns ->
    Forall (fun h => h >= head_max ns) (heads T) ->
    sound_table (execute A t j T (p, ns)) /\
    Forall (fun h => h >= head_max ns) (heads (execute A t j T (p, ns))) /\
    forall q, Permutation (content (execute A t j T (p, ns)) q) (piece t j q (p, ns) ++ content T q).
  Proof.
    intros HT U H. destruct (merge_correct ns U) as (G & M & P). unfold execute, piece.
    set (n := merge ns) in *. rewrite <- M in *.
    set (T1 := match next A t Take p with Some q => add A q (Output j n) [Output j n] T | None => T end).
    assert (X : sound_table T1 /\ Forall (fun h => h >= max_start n) (heads T1) /\
      forall q, Permutation (content T1 q) ((match next A t Take p with Some r => if key_dec A r q then map (fun '(i, P) => (i, j :: P)) (all_paths ns) else [] | None => [] end) ++ content T q)).
    { unfold T1. destruct (next A t Take p) as [r|]; [|auto].
      assert (Go : good (Output j n)) by (destruct G as (? & ? & _); repeat split; auto).
      destruct (add_correct r (Output j n) [Output j n] T) as (S1 & H1 & P1); auto.
      - repeat split; auto.
      - cbn. now rewrite app_nil_r.
      - split; [auto|split; [auto|]]. intros q. rewrite (P1 q). destruct (key_dec A r q); auto.
        cbn [paths]. now rewrite P. }
    destruct X as (S1 & H1 & P1). destruct (next A t Skip p) as [r|].
    - destruct (add_correct r n ns T1) as (S2 & H2 & P2); auto; [now symmetry|].
      split; [auto|split; [auto|]]. intros q. rewrite (P2 q), (P1 q), <- app_assoc.
      rewrite Permutation_app_swap_app. apply Permutation_app_head, Permutation_app_tail.
      destruct (key_dec A r q); auto.
    - split; [auto|split; [auto|]]. intros q. rewrite (P1 q), app_nil_r. reflexivity.
  Qed.

  Lemma fold_correct t j jobs : forall T, sound_table T -> Forall (fun e => union_list (snd e)) jobs ->
    StronglySorted ge (heads jobs) ->
    (forall e, In e jobs -> Forall (fun h => h >= head_max (snd e)) (heads T)) ->
    let T' := fold_left (execute A t j) jobs T in
    sound_table T' /\ forall q, Permutation (content T' q) (flat_map (piece t j q) jobs ++ content T q).
  Proof.
    induction jobs as [|[p ns] jobs IH]; cbn [fold_left]; intros T HT U So H; [auto|].
    inversion U as [|? ? U0 U']; subst. inversion So as [|? ? So' F]; subst. cbn in U0, F.
    destruct (execute_correct t j T p ns HT U0) as (S1 & H1 & P1); [apply (H (p, ns)); now left|].
    destruct (IH (execute A t j T (p, ns))) as (S2 & P2); auto.
    - intros e I. rewrite Forall_forall in F. assert (head_max ns >= head_max (snd e)).
      { apply F. unfold heads. apply in_map_iff. eauto. }
      eapply Forall_impl; [|exact H1]. cbn. intros; lia.
    - split; auto. intros q. rewrite (P2 q), (P1 q). cbn [flat_map]. rewrite !app_assoc.
      apply Permutation_app_tail, Permutation_app_comm.
  Qed.

  (** * Algorithm 1 *)

  Lemma in_piece t j q p ns x : In x (piece t j q (p, ns)) <->
    exists m i P, next A t m p = Some q /\ In (i, P) (all_paths ns) /\ x = (i, take_at m j P).
  Proof.
    unfold piece. rewrite in_app_iff. split.
    - intros [I|I].
      + destruct (next A t Take p) as [r|] eqn:N; [|easy]. destruct (key_dec A r q) as [->|]; [|easy].
        members. destruct I as ([i P] & <- & I). now exists Take, i, P.
      + destruct (next A t Skip p) as [r|] eqn:N; [|easy]. destruct (key_dec A r q) as [->|]; [|easy].
        destruct x as [i P]. now exists Skip, i, P.
    - intros ([] & i & P & N & I & ->); [left | right]; rewrite N; destruct (key_dec A q q); try easy.
      members. now exists (i, P).
  Qed.

  Theorem table_correct s : sound_table (table_of A s) /\ Forall (fun h => h < length s) (heads (table_of A s)) /\
    forall q, NoDup (content (table_of A s) q) /\ forall x, In x (content (table_of A s) q) <-> open A s x q.
  Proof.
    induction s as [|t s (HT & HH & HC)].
    { cbn. repeat split; try constructor; try easy. }
    cbn [table_of]. unfold advance. set (T := table_of A s) in *. set (j := length s) in *.
    set (jobs := (q0 A s, [Bottom j]) :: T). pose proof HT as (NK & U & So).
    assert (entry : forall p ns x, In (p, ns) T -> In x (all_paths ns) -> open A s x p).
    { intros p ns x I H. apply HC, in_content. eauto. }
    destruct (fold_correct t j jobs []) as (evs' & P').
    { repeat split; constructor. }
    { constructor; auto. repeat split; cbn; auto. constructor; [repeat split|constructor]. }
    { cbn. constructor; auto. eapply Forall_impl; [|exact HH]. cbn. intros; lia. }
    { intros; constructor. }
    assert (C : forall q x, In x (flat_map (piece t j q) jobs) <-> open A (t :: s) x q).
    { intros q x. rewrite in_flat_map. split.
      - intros ([p ns] & I & H). apply in_piece in H as (m & i & P & N & H & ->). destruct I as [I|I].
        + injection I as <- <-. destruct H as [H|[]]. injection H as <- <-. now apply begins.
        + eapply goes_on; eauto.
      - rewrite open_cons. intros [(m & N & ->)|(m & i & P & p & H & N & ->)].
        + exists (q0 A s, [Bottom j]). split; [now left|]. apply in_piece. exists m, j, []. cbn. auto.
        + apply HC, in_content in H as (ns & I & K). exists (p, ns). split; [now right|].
          apply in_piece. eauto 7. }
    assert (fresh : forall p ns i P, In (p, ns) jobs -> In (i, P) (all_paths ns) -> ~ In j P).
    { intros p ns i P [I|I] H K.
      - injection I as <- <-. destruct H as [H|[]]. injection H as <- <-. easy.
      - apply (entry p ns) in H; auto. apply open_below in H as [_ L]. specialize (L _ K). unfold j in L. lia. }
    split; [exact evs'|]. split.
    - apply Forall_forall. intros h I. unfold heads in I. apply in_map_iff in I as ([q ns] & <- & I). cbn.
      assert (K : exists P, In (head_max ns, P) (all_paths ns)).
      { destruct evs' as (_ & U' & _). rewrite Forall_forall in U'. specialize (U' _ I). cbn in U'.
        destruct ns as [|n ns]; [easy|]. destruct (max_start_reached n) as [P H].
        exists P. cbn. rewrite in_app_iff. auto. }
      destruct K as [P K]. assert (O : open A (t :: s) (head_max ns, P) q).
      { apply C. rewrite <- (app_nil_r (flat_map _ _)). eapply Permutation_in; [apply (P' q)|].
        apply in_content. eauto. }
      now apply open_below in O as [L _].
    - intros q. split.
      + eapply Permutation_NoDup; [symmetry; apply (P' q)|]. cbn [content flat_map]. rewrite app_nil_r.
        apply NoDup_flat_map.
        * constructor; [|eapply NoDup_map_inv; exact NK]. intros I.
          rewrite Forall_forall in HH. specialize (HH j). unfold heads in HH.
          assert (j < j); [apply HH, in_map_iff; now exists (q0 A s, [Bottom j]) | lia].
        * intros [p ns] I. assert (N : NoDup (all_paths ns)).
          { destruct I as [I|I]; [injection I as <- <-; repeat constructor; easy|].
            eapply content_entry; [exact I | apply HC]. }
          unfold piece. apply NoDup_app.
          -- destruct (next A t Take p) as [r|]; [|constructor]. destruct (key_dec A r q); [|constructor].
             apply FinFun.Injective_map_NoDup; auto. intros [i P] [i' P'']. congruence.
          -- destruct (next A t Skip p) as [r|]; [|constructor]. destruct (key_dec A r q); [auto | constructor].
          -- intros x H K.
             destruct (next A t Take p) as [r|]; [|easy]. destruct (key_dec A r q); [|easy].
             destruct (next A t Skip p) as [r'|]; [|easy]. destruct (key_dec A r' q); [|easy].
             members. destruct H as ([i P] & <- & H). eapply fresh; [exact I | exact K | now left].
        * intros [p ns] [p' ns'] x I I' H H'.
          apply in_piece in H as (m & i & P & N & H & ->). apply in_piece in H' as (m' & i' & P'' & N' & H' & E).
          injection E as <- E. apply take_at_inj in E as [-> <-]; eauto.
          destruct I as [I|I], I' as [I'|I'].
          -- congruence.
          -- injection I as <- <-. destruct H as [H|[]]. injection H as <- <-.
             apply (entry p' ns') in H'; auto. apply open_below in H' as [L _]. unfold j in L. cbn in L. lia.
          -- injection I' as <- <-. destruct H' as [H'|[]]. injection H' as <- <-.
             apply (entry p ns) in H; auto. apply open_below in H as [L _]. unfold j in L. cbn in L. lia.
          -- pose proof (entry _ _ _ I H) as O. pose proof (entry _ _ _ I' H') as O'.
             assert (p = p') as <- by (eapply open_state; eauto). f_equal.
             clear -NK I I'. induction T as [|[r ms] T IH]; [easy|]. cbn in NK. inversion NK as [|? ? NI NK']; subst.
             destruct I as [I|I], I' as [I'|I']; try congruence; auto; exfalso; apply NI.
             ++ injection I as -> _. apply in_map_iff. now exists (p, ns').
             ++ injection I' as -> _. apply in_map_iff. now exists (p, ns).
      + intros x. rewrite <- C. pose proof (P' q) as E. cbn [content flat_map] in E. rewrite app_nil_r in E.
        split; intros I; [exact (Permutation_in _ E I) | exact (Permutation_in _ (Permutation_sym E) I)].
  Qed.

  Lemma in_listed lowest ns x : union_list ns ->
    In x (listed_from lowest (merge ns)) <-> In x (all_paths ns) /\ lowest <= fst x.
  Proof.
    intros U. destruct (merge_correct ns U) as ((T & _ & _) & _ & P). rewrite listed_correct by auto.
    rewrite filter_In. destruct x as [i Q]; cbn. rewrite Nat.leb_le. split; intros [H L]; split; auto;
      [exact (Permutation_in _ P H) | exact (Permutation_in _ (Permutation_sym P) H)].
  Qed.

  Theorem outputs_correct lowest s x : In x (outputs A lowest s) <->
    lowest <= fst x /\ exists q, final A q = true /\ open A s x q.
  Proof.
    destruct (table_correct s) as ((NK & U & _) & _ & C). unfold outputs. rewrite in_flat_map.
    rewrite Forall_forall in U. split.
    - intros ([q ns] & I & H). destruct (final A q) eqn:F; [|easy]. apply in_listed in H as [H L]; [|exact (U _ I)].
      split; auto. exists q. split; auto. apply C, in_content. eauto.
    - intros (L & q & F & H). apply C, in_content in H as (ns & I & H). exists (q, ns). split; auto.
      rewrite F. apply in_listed; [exact (U _ I) | auto].
  Qed.

  Theorem outputs_once lowest s : NoDup (outputs A lowest s).
  Proof.
    destruct (table_correct s) as ((NK & U & _) & _ & C). rewrite Forall_forall in U.
    apply NoDup_flat_map; [eapply NoDup_map_inv; exact NK | |].
    - intros [q ns] I. destruct (final A q); [|constructor].
      destruct (merge_correct ns (U _ I)) as ((T & _ & _) & _ & P). rewrite listed_correct by auto.
      apply NoDup_filter. eapply Permutation_NoDup; [symmetry; exact P|].
      eapply content_entry; [exact I | apply C].
    - intros [p ns] [q ms] x I J H K.
      destruct (final A p); [|easy]. destruct (final A q); [|easy].
      apply in_listed in H as [H _]; [|exact (U _ I)]. apply in_listed in K as [K _]; [|exact (U _ J)].
      assert (O : open A s x p) by (apply C, in_content; eauto).
      assert (O' : open A s x q) by (apply C, in_content; eauto).
      assert (p = q) as <- by (eapply open_state; eauto). f_equal.
      clear -NK I J. induction (table_of A s) as [|[r ls] T IH]; [easy|]. cbn in NK. inversion NK as [|? ? NI NK']; subst.
      destruct I as [I|I], J as [J|J]; try congruence; auto; exfalso; apply NI.
      + injection I as -> _. apply in_map_iff. now exists (p, ms).
      + injection J as -> _. apply in_map_iff. now exists (p, ns).
  Qed.
End Proofs.
